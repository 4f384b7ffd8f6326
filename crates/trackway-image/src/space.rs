//! Which contexts a part of the image is for.

use trackway_core::{Context, Privilege, Security};

/// Where a part of the image is seen from. Nothing given: from everywhere.
///
/// A part that is for some contexts only lies above all parts that are for every context; among equals
/// the one added later lies above.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Space {
    /// Privilege or exception levels; none named means all. RISC-V's virtual modes are levels of their own.
    pub privileges: Vec<Privilege>,
    /// Arm security state.
    pub security: Option<Security>,
    /// Context id (CONTEXTIDR, or the one of the trace).
    pub context_id: Option<u64>,
    /// Virtual machine id.
    pub vmid: Option<u64>,
    /// Address space id.
    pub asid: Option<u64>,
    /// Process id of the operating system.
    pub pid: Option<u64>,
}

impl Space {
    /// Is it seen from everywhere?
    pub fn is_everywhere(&self) -> bool {
        *self == Space::default()
    }

    /// Is it seen from this context? A field that the context does not know never matches.
    pub fn matches(&self, context: &Context) -> bool {
        fn meets<T: PartialEq>(wanted: Option<T>, found: Option<T>) -> bool {
            wanted.is_none() || wanted == found
        }
        let privilege = self.privileges.is_empty()
            || context.privilege.is_some_and(|level| self.privileges.contains(&level));
        privilege
            && meets(self.security, context.security)
            && meets(self.context_id, context.context_id)
            && meets(self.vmid, context.vmid)
            && meets(self.asid, context.asid)
            && meets(self.pid, context.pid)
    }
}
