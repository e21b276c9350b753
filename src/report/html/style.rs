//! How our pages look: the colours of the dashboard, light and dark, in one column on a phone.

pub const STYLE: &str = "
:root { color-scheme: light dark; --paper: #ffffff; --text: #1f2430; --dim: #5c6678; --line: #d7dce5;
  --orphaned: #8e3bb0; --stale: #c0313b; --unknown: #5c6678; --expiring: #8a6100; --healthy: #2d7a2d; }
@media (prefers-color-scheme: dark) { :root { --paper: #161a21; --text: #d8dee9; --dim: #8b95a7; --line: #333c4a;
  --orphaned: #d08cf0; --stale: #f07178; --unknown: #9aa5b8; --expiring: #f2c265; --healthy: #8fca7f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--paper); color: var(--text);
  font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; margin: 0 0 .25rem; } h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .25rem 0; } .dim { color: var(--dim); }
ul { list-style: none; margin: 0; padding: 0; } .causes li { border-left: .3rem solid var(--stale);
  padding: .4rem .7rem; margin: .4rem 0; font-weight: 600; }
.cards { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
.card h3 { margin: 0; font-size: 1rem; } .down { border-color: var(--stale); }
.counts { display: flex; flex-wrap: wrap; gap: .2rem .9rem; margin: .3rem 0; }
.orphaned { color: var(--orphaned); fill: var(--orphaned); } .stale { color: var(--stale); fill: var(--stale); }
.unknown { color: var(--unknown); fill: var(--unknown); } .expiring { color: var(--expiring); fill: var(--expiring); }
.healthy { color: var(--healthy); fill: var(--healthy); } .far { fill: var(--dim); }
table { width: 100%; border-collapse: collapse; } th, td { text-align: left; padding: .25rem .6rem .25rem 0;
  vertical-align: top; border-bottom: 1px solid var(--line); } th { color: var(--dim); font-weight: 400;
  white-space: nowrap; }
td.id { font-family: ui-monospace, monospace; font-size: .9rem; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--dim); font: 11px system-ui, sans-serif; }
svg text.cause { fill: var(--stale); font-weight: 600; }
svg .axis { stroke: var(--line); } svg .now { stroke: var(--text); }
@media (max-width: 40rem) { table, tbody, tr, td { display: block; } tr.head { display: none; }
  td { border: 0; padding: 0; } tr { border-bottom: 1px solid var(--line); padding: .4rem 0; } }
";
