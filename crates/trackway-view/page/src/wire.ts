// Reads the compact form of large answers, by the list of tables that the server writes them by.

import { TABLES } from "./tables";

type Tables = typeof TABLES;
export type Name = keyof Tables;

type Value<Kind> = Kind extends "number"
  ? number
  : Kind extends "number?"
    ? number | null
    : Kind extends "text" | "hex"
      ? string
      : Kind extends "text?" | "hex?"
        ? string | null
        : Kind extends `${infer Of extends Name}[]`
          ? Rec<Of>[]
          : Kind extends `${infer Of extends Name}{}`
            ? Columns<Of>
            : never;

/** A row of a table. */
export type Rec<Of extends Name> = { -readonly [Field in keyof Tables[Of]]: Value<Tables[Of][Field]> };
/** The columns of a table of numbers. */
export type Columns<Of extends Name> = { length: number } & { [Field in keyof Tables[Of]]: Float64Array };

const MAGIC = [0x54, 0x57, 0x56, 1];

export function decode<Of extends Name>(name: Of, bytes: Uint8Array): Rec<Of> {
  if (MAGIC.some((byte, n) => bytes[n] !== byte)) throw new Error("the answer has another form than this page expects: load it again");
  return new Reader(bytes).records(name, 1)[0] as Rec<Of>;
}

class Reader {
  private at = MAGIC.length;
  private strings: string[] = [];

  constructor(private bytes: Uint8Array) {
    const text = new TextDecoder();
    for (let left = this.number(); left > 0; left--) {
      const length = this.number();
      this.strings.push(text.decode(bytes.subarray(this.at, this.at + length)));
      this.at += length;
    }
  }

  private number(): number {
    let byte = this.bytes[this.at++];
    if (byte < 0x80) return byte;
    let [value, unit] = [byte & 0x7f, 0x80];
    do {
      if (this.at >= this.bytes.length) throw new Error("the answer is cut");
      byte = this.bytes[this.at++];
      value += (byte & 0x7f) * unit;
      unit *= 0x80;
    } while (byte >= 0x80);
    return value;
  }

  private hex(): string | null {
    const digits = this.number() - 1;
    if (digits < 0) return null;
    let text = "";
    for (let left = Math.ceil(digits / 2); left > 0; left--) text = this.bytes[this.at++].toString(16).padStart(2, "0") + text;
    return `0x${text.slice(text.length - digits)}`;
  }

  private column(kind: string, count: number): ArrayLike<unknown> {
    if (kind === "number") {
      const values = new Float64Array(count);
      for (let n = 0, last = 0; n < count; n++) values[n] = last += signed(this.number());
      return values;
    }
    if (kind.endsWith("]")) return this.lists(kind.slice(0, -2) as Name, count, (name, all) => this.records(name, all));
    if (kind.endsWith("}")) return this.lists(kind.slice(0, -2) as Name, count, (name, all) => this.columns(name, all));
    const values: unknown[] = [];
    let last = 0;
    for (let n = 0; n < count; n++) {
      if (kind.startsWith("hex")) values.push(this.hex());
      else if (kind.startsWith("text")) values.push(this.strings[this.number() - 1] ?? null);
      else {
        const value = this.number();
        values.push(value === 0 ? null : (last += signed(value - 1)));
      }
    }
    return values;
  }

  /** The lists of several rows: how long each is, then all of them. */
  private lists(name: Name, count: number, read: (name: Name, all: number) => Sliced): unknown[] {
    const lengths: number[] = [];
    for (let n = 0; n < count; n++) lengths.push(this.number());
    const all = read(name, lengths.reduce((sum, one) => sum + one, 0));
    let at = 0;
    return lengths.map((length) => all.slice(at, (at += length)));
  }

  private columns(name: Name, count: number): Sliced {
    const columns = Object.entries(TABLES[name]).map(([field, kind]) => [field, this.column(kind, count) as Float64Array] as const);
    return {
      slice: (from, to) => ({ length: to - from, ...Object.fromEntries(columns.map(([field, values]) => [field, values.subarray(from, to)])) }),
    };
  }

  records(name: Name, count: number): unknown[] {
    const columns = Object.entries(TABLES[name]).map(([field, kind]) => [field, this.column(kind, count)] as const);
    return Array.from({ length: count }, (_, n) => Object.fromEntries(columns.map(([field, values]) => [field, values[n]])));
  }
}

type Sliced = { slice(from: number, to: number): unknown };

const signed = (value: number) => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);
