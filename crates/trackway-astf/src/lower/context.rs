//! Context events to the Context record.

use trackway_core::{Context, Privilege, Security};

use crate::record;

/// The Arm level for a level of either architecture: some formats number both alike.
pub(super) fn arm_level(privilege: Privilege) -> Privilege {
    match privilege {
        Privilege::El0 | Privilege::U | Privilege::VU => Privilege::El0,
        Privilege::El1 | Privilege::S | Privilege::VS => Privilege::El1,
        Privilege::El2 | Privilege::H => Privilege::El2,
        Privilege::El3 | Privilege::M | Privilege::D => Privilege::El3,
    }
}

/// The Context record for the known state.
pub(super) fn context_record(context: &Context) -> record::Context {
    let el = match context.privilege {
        Some(Privilege::El1) => 1,
        Some(Privilege::El2) => 2,
        Some(Privilege::El3) => 3,
        _ => 0,
    };
    let pid_valid = context.pid.is_some();
    // A thread id needs a process id.
    let tid = context.tid.filter(|_| pid_valid);
    record::Context {
        pstate_sm: context.streaming.unwrap_or(false),
        pstate_dit: context.dit.unwrap_or(false),
        pstate_ssbs: context.ssbs.unwrap_or(false),
        evl: context.vector_bits.map_or(0, |bits| (bits / 128).clamp(1, 16) - 1) as u8,
        unsupported: context.unsupported.unwrap_or(false),
        mte_tcf: context.mte.unwrap_or(0) & 3,
        el,
        secure: matches!(context.security, Some(Security::Secure | Security::Realm | Security::Root)),
        // Default: the level's own stack pointer, which kernels use.
        handler: el > 0 && context.own_stack.unwrap_or(true),
        pid_valid,
        tid_valid: tid.is_some(),
        pid: context.pid.unwrap_or(0),
        tid: tid.unwrap_or(0),
        ..record::Context::default()
    }
}

/// Applies a change; fields without a value stay. Ids belong to the level they were recorded with, and a `complete`
/// change has all ids that are known.
pub(super) fn apply(context: &mut Context, change: &Context, complete: bool) {
    let user = Some(Privilege::El0);
    if change.privilege.is_some() && (complete || change.privilege != user) {
        (context.pid, context.tid) = (None, None);
    }
    context.privilege = change.privilege.or(context.privilege);
    context.security = change.security.or(context.security);
    // A new level without a stack pointer selection: it is unknown.
    context.own_stack = match change.privilege {
        Some(Privilege::El0) => change.own_stack.or(Some(false)),
        Some(_) => change.own_stack,
        None => change.own_stack.or(context.own_stack),
    };
    context.pid = change.pid.or(context.pid);
    context.tid = change.tid.or(context.tid);
    context.vector_bits = change.vector_bits.or(context.vector_bits);
    context.streaming = change.streaming.or(context.streaming);
    context.dit = change.dit.or(context.dit);
    context.ssbs = change.ssbs.or(context.ssbs);
    context.mte = change.mte.or(context.mte);
    context.unsupported = change.unsupported.or(context.unsupported);
}
