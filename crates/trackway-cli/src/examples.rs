//! Three examples for every command: its help begins with them.

/// Commands to paste, in the repository's folder. One that ends with another exit code than 0 says so: `# exit N`.
const EXAMPLES: &[(&str, [&str; 3])] = &[
    (
        "trackway",
        [
            "trackway demo",
            "trackway info testdata/stf/sort/trace.stf",
            "trackway convert testdata/stf/sort/trace.stf sort.etrace",
        ],
    ),
    (
        "demo",
        ["trackway demo", "trackway demo out", "trackway demo out && trackway dump out/sort.zstf --limit 20"],
    ),
    (
        "info",
        [
            "trackway info testdata/stf/sort/trace.stf",
            "trackway info testdata/astf/*.astf",
            "trackway info testdata/ete/count --json",
        ],
    ),
    (
        "dump",
        [
            "trackway dump testdata/stf/sort/trace.stf --from 100 --to 120",
            "trackway dump testdata/astf/sort.astf --as pcs",
            "trackway dump testdata/ete/count --raw --limit 20",
        ],
    ),
    (
        "convert",
        [
            "trackway convert testdata/stf/sort/trace.stf sort.zstf",
            "trackway convert testdata/stf/sort/trace.stf sort.etrace",
            "trackway convert testdata/astf/sort.astf sort.ete --ledger ledger.json",
        ],
    ),
    (
        "slice",
        [
            "trackway slice testdata/stf/sort/trace.stf part.stf --from 100 --to 200",
            "trackway slice testdata/stf/sort/trace.stf part.etrace --from pc:0x10116 --to end-10",
            "trackway slice testdata/astf/sort.astf samples.astf --every 100 --length 20",
        ],
    ),
    (
        "split",
        [
            "trackway split testdata/stf/sort/trace.stf parts --parts 3",
            "trackway split testdata/astf/sort.astf more-parts --parts 4 --json",
            "trackway split testdata/stf/sort/trace.stf --plan --parts 8 > plan.jsonl",
        ],
    ),
    (
        "merge",
        [
            "trackway split testdata/stf/sort/trace.stf parts --parts 3 && trackway merge whole.stf parts/*",
            "trackway split testdata/ete/count r --parts 2 && trackway merge count.ete r/* --json",
            "trackway merge both.ete testdata/astf/sort.astf testdata/astf/levels.astf --by time",
        ],
    ),
    (
        "calls",
        [
            "trackway calls testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf",
            "trackway calls testdata/astf/sort.astf --bottom-up --json",
            "trackway calls testdata/ete/count --depth 3",
        ],
    ),
    (
        "flame",
        [
            "trackway flame testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf -o sort.svg",
            "trackway flame testdata/astf/sort.astf --from 100 --to 200 -o part.svg",
            "trackway flame testdata/astf/sort.astf --against testdata/astf/levels.astf -o change.svg",
        ],
    ),
    (
        "plot",
        [
            "trackway plot testdata/stf/sort/trace.stf -o mix.svg",
            "trackway plot testdata/stf/sort/trace.stf --what working-set -o memory.svg",
            "trackway plot testdata/astf/sort.astf --what pc --from 100 --to 200 -o part.svg",
        ],
    ),
    (
        "report",
        [
            "trackway report testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf -o sort.html",
            "trackway report testdata/astf/sort.astf --from 100 --to 200 -o part.html",
            "trackway report testdata/ete/count -o count.html",
        ],
    ),
    (
        "cover",
        [
            "trackway cover testdata/tandem/sort/trace.tv --elf programs/riscv/sort.elf --as drcov -o x.drcov",
            "trackway cover testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf --as drcov -o x.drcov",
            "trackway cover testdata/astf/sort.astf --elf programs/aarch64/sort.elf --as drcov -o x.drcov",
        ],
    ),
    (
        "profile",
        [
            "trackway profile testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf --as callgrind -o -",
            "trackway profile testdata/astf/sort.astf --as folded -o -",
            "trackway profile testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf --as pprof -o sort.pb",
        ],
    ),
    (
        "export",
        [
            "trackway export testdata/stf/sort/trace.stf sort.csv --columns number,pc,mnemonic,function",
            "trackway export testdata/ete/count tables/ --as jsonl --tables runs,contexts",
            "trackway export testdata/stf/sort/trace.stf sort.champsim.xz --as champsim",
        ],
    ),
    (
        "simpoint",
        [
            "trackway simpoint testdata/stf/sort/trace.stf --interval 50",
            "trackway simpoint testdata/stf/sort/trace.stf --interval 50 -o sort",
            "trackway simpoint testdata/astf/sort.astf --interval 50 --slices points --warm-up 20 --json",
        ],
    ),
    (
        "stats",
        [
            "trackway stats testdata/stf/sort/trace.stf",
            "trackway stats testdata/astf/sort.astf --with predictors,loops,reuse --top 3",
            "trackway stats testdata/ete/count --json",
        ],
    ),
    (
        "check",
        [
            "trackway check testdata/stf/sort/trace.stf",
            "trackway check testdata/stf/everything/trace.stf  # exit 1: findings",
            "trackway check --rules stf",
        ],
    ),
    ("config", ["trackway config etrace", "trackway config stf", "trackway config ete > ete.toml"]),
    (
        "index",
        [
            "trackway index testdata/stf/sort/trace.stf",
            "trackway index testdata/stf/sort/trace.stf --show",
            "trackway index testdata/stf/sort/trace.stf --remove",
        ],
    ),
    (
        "verify",
        [
            "trackway verify testdata/tandem/sort/trace.tv --elf programs/riscv/sort.elf",
            "trackway verify testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf",
            "trackway verify testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf --coverage --json",
        ],
    ),
    (
        "diff",
        [
            "trackway diff testdata/stf/sort/trace.stf testdata/tandem/sort/trace.tv",
            "trackway diff testdata/stf/sort/trace.stf --record programs/riscv/sort.elf --json",
            "trackway diff testdata/astf/sort.astf testdata/astf/levels.astf --only pcs  # exit 1: differences",
        ],
    ),
    (
        "state",
        [
            "trackway state testdata/stf/sort/trace.stf --at 100",
            "trackway state testdata/stf/sort/trace.stf --at end --reg a0 --mem 0x11150:16",
            "trackway state testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf --at sym:sum",
        ],
    ),
    (
        "why",
        [
            "trackway why testdata/stf/sort/trace.stf --at 200 --reg t3",
            "trackway why testdata/stf/sort/trace.stf --at end --mem 0x11150 --depth 8",
            "trackway why testdata/ete/count --source ETE_0 --at 15 --reg x0",
        ],
    ),
    (
        "replay",
        [
            "trackway replay testdata/stf/sort/trace.stf </dev/null",
            "trackway replay testdata/ete/count --dap </dev/null",
            "trackway replay testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf </dev/null",
        ],
    ),
    (
        "view",
        [
            "trackway view testdata/stf/sort/trace.stf --export sort.html",
            "trackway view testdata/ete/count --export count.html --from 10 --to 100",
            "trackway view testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf --export end.html --from end-50",
        ],
    ),
    (
        "browse",
        [
            "trackway browse testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf",
            "trackway browse testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf --at sym:sum",
            "trackway browse testdata/ete/count --source ETE_0 --at end-1",
        ],
    ),
    (
        "find",
        [
            "trackway find testdata/stf/sort/trace.stf --elf programs/riscv/sort.elf --sym sum -C 2",
            "trackway find testdata/stf/sort/trace.stf --mem 0x11148-0x11150 --class store",
            "trackway find testdata/stf/sort/trace.stf --op ret --count",
        ],
    ),
    (
        "image",
        [
            "trackway image programs/riscv/sort.elf",
            "trackway image programs/riscv/sort.elf --disasm --from sym:sum",
            "trackway image programs/aarch64/sort.elf --blocks",
        ],
    ),
    (
        "record",
        [
            "trackway record programs/riscv/elf/rv64-mix.elf -o mix.zstf",
            "trackway record programs/riscv/elf/rv64-mix.elf -o mix.te --limit 1000",
            "trackway record programs/riscv/linux/rv64-linux.elf -o run.tv -- one two",
        ],
    ),
    (
        "completions",
        [
            "trackway completions bash > trackway.bash",
            "trackway completions zsh > _trackway",
            "trackway completions fish > trackway.fish",
        ],
    ),
    (
        "doctor",
        [
            "trackway doctor testdata/stf/sort/trace.stf",
            "trackway doctor programs/riscv/sort.elf # exit 1",
            "trackway doctor testdata/tandem/sort/trace.tv --json",
        ],
    ),
    (
        "man",
        [
            "trackway man > trackway.1",
            "trackway man dump > trackway-dump.1",
            "trackway man convert > trackway-convert.1",
        ],
    ),
    ("help", ["trackway help formats", "trackway help exit-codes", "trackway help dump"]),
];

/// The examples of a command, as its help shows them.
pub(crate) fn of(command: &str) -> Option<String> {
    let (_, lines) = EXAMPLES.iter().find(|(name, _)| *name == command)?;
    Some(format!("Examples:\n  {}", lines.join("\n  ")))
}
