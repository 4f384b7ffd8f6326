"""Reads a trace with Perfetto's own definitions, and checks what a timeline must be: tracks are declared before they
are used, packets of a sequence are in order of time, slices nest and all are closed. Prints the slices by name."""
import sys
from collections import Counter

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
tracks, names, times, stacks, slices = {}, {}, {}, {}, Counter()
for packet in trace.packet:
    sequence = packet.trusted_packet_sequence_id
    assert sequence, "a packet without a sequence"
    if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
        names[sequence] = {}
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks, "a track is declared twice"
        assert not track.parent_uuid or track.parent_uuid in tracks, "a track before its parent"
        tracks[track.uuid] = track.name
        continue
    for name in packet.interned_data.event_names:
        names[sequence][name.iid] = name.name
    event = packet.track_event
    assert event.track_uuid in tracks, "an event on no track"
    assert packet.HasField("timestamp") and packet.timestamp >= times.get(sequence, 0), "not in order"
    times[sequence] = packet.timestamp
    stack = stacks.setdefault(event.track_uuid, [])
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        stack.append(names[sequence][event.name_iid])
        slices[stack[-1]] += 1
    elif event.type == TrackEvent.TYPE_SLICE_END:
        stack.pop()
    else:
        assert event.type == TrackEvent.TYPE_INSTANT and names[sequence][event.name_iid]
        slices[names[sequence][event.name_iid]] += 1
assert not any(stacks.values()), "slices are left open"
assert not trace.DiscardUnknownFields() and trace.ByteSize() > 0
print("time", max(times.values()))
for name, count in sorted(slices.items()):
    print(count, name)
