// The style sheet of reports, without external resources.
#pragma once

namespace muster::cli::postmortem {

// The light colours are also used for printing; the dark colours are only for screens.
constexpr char style[] = R"(
:root{color-scheme:light dark;--bg:#f3f4f6;--card:#fff;--t:#14181d;--t2:#4a5460;--l:#dfe3e8;
--ok:#2f9494;--bad:#d7263a;--badt:#b01d2a;--badb:#fdecee;--okt:#0f6466;--okb:#e4f4f3;--off:#9aa4af;
--run:#3f74d6;--late:#c27c00;--track:#eceff2}
@media screen and (prefers-color-scheme:dark){:root{--bg:#0c0f13;--card:#13171d;--t:#e9ecf0;
--t2:#aab4c0;--l:#262d36;--ok:#2f9a96;--bad:#ff4d5b;--badt:#ff8389;--badb:#2c171b;--okt:#5fc9c4;
--okb:#12262a;--off:#56616d;--run:#5b8cf0;--late:#e5a92f;--track:#1e242c}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--t);font:15px/1.5 system-ui,sans-serif;
overflow-wrap:anywhere;-webkit-text-size-adjust:100%}
main{max-width:70rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;line-height:1.2;margin:.2rem 0 .8rem}
h2{font-size:1.05rem;margin:0 0 .7rem}h3{font-size:.95rem;margin:1.1rem 0 .4rem}
p{margin:.4rem 0}small,.k,nav,.about{color:var(--t2);font-size:.85rem}a{color:var(--run)}
.k{text-transform:uppercase;letter-spacing:.06em;margin:0}
.verdict{font-size:1.15rem;line-height:1.45;padding:.8rem 1rem;margin:0 0 .8rem;
border-left:5px solid var(--run);background:var(--card);border-radius:4px}
.verdict.bad{color:var(--t);border-color:var(--bad);background:var(--badb)}
.verdict.good{border-color:var(--ok);background:var(--okb)}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.6rem 0 1rem}
section{background:var(--card);border:1px solid var(--l);border-radius:6px;padding:1rem;
margin:0 0 1rem}
dl{display:grid;grid-template-columns:11rem 1fr;gap:0 1.2rem;margin:0 0 .25rem}
dt{color:var(--t2)}dd{margin:0}dd,td,th,pre,b,i{unicode-bidi:isolate}
time{white-space:nowrap}#facts dl{display:inline-block;vertical-align:top;margin:0 2.2rem .6rem 0}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.87rem}
th{text-align:left;color:var(--t2);font-weight:500}
th,td{padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--l);vertical-align:top;
overflow-wrap:normal}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td:last-child{min-width:14rem;overflow-wrap:anywhere}td.n:last-child{min-width:0}
pre{font:12.5px/1.45 ui-monospace,monospace;margin:.4rem 0;padding:.6rem .7rem;overflow-x:auto;
background:var(--bg);border:1px solid var(--l);border-radius:4px;white-space:pre-wrap}
i{font-style:normal;color:var(--late);font-size:.9em}.bad{color:var(--badt)}.good{color:var(--okt)}
details{border-top:1px solid var(--l);padding:.4rem 0}summary{cursor:pointer}
.lane{display:grid;grid-template-columns:13rem 1fr;gap:0 .8rem;align-items:center;font-size:.82rem}
.lane>span{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.lane svg{display:block;width:100%;height:1.1rem;background:var(--track);border-radius:2px;
print-color-adjust:exact;-webkit-print-color-adjust:exact}.lane svg.c{height:2.2rem}
.lane small{font-size:1em}.lane+.lane{margin-top:3px}.axis{display:flex;justify-content:space-between;color:var(--t2)}
.o{fill:var(--ok)}.f{fill:var(--bad)}.x{fill:var(--off)}.r{fill:var(--run)}.l{fill:var(--late)}
.key{font-size:.82rem;color:var(--t2)}.key svg{width:.8em;height:.8em;margin:0 .35em 0 1em}
.key svg:first-child{margin-left:0}
@media(max-width:40rem){main{padding:1rem .6rem 3rem}section{padding:.8rem .7rem}
.lane{grid-template-columns:1fr}.lane+.lane{margin-top:.4rem}dl{grid-template-columns:1fr;gap:0}
dd{margin-bottom:.4rem}.axis span:nth-child(even){display:none}}
@media print{body{background:#fff;font-size:10pt}main{max-width:none;padding:0}nav{display:none}
section{border:0;padding:.4rem 0}.lane,tr{break-inside:avoid}
details::details-content{content-visibility:visible;block-size:auto;overflow:visible}})";

}  // namespace muster::cli::postmortem
