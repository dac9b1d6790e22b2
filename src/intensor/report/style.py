"""The style of the report: light, dark, phone and print."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root{--page:#f6f7f9;--card:#fff;--ink:#1b2430;--soft:#556070;--line:#d9dee6;--grid:#e8ebf0;
--blue:#0b62a8;--orange:#b24a00;--green:#0f6b4f;--red:#a8213b;--amber:#7a5600;--cell:11,98,168;
color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--page:#10151c;--card:#19212b;--ink:#e8edf3;
--soft:#a3afbe;--line:#33404f;--grid:#273240;--blue:#6db5f2;--orange:#f5a05a;--green:#5fd0a5;
--red:#ff8f9f;--amber:#e9c46a;--cell:109,181,242}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,
"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
main{max-width:1080px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:1.65rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.2rem;margin:2.25rem 0 .6rem}
h3{font-size:1rem;margin:1.25rem 0 .4rem}
p{margin:.4rem 0;max-width:72ch}
.lead{font-size:1.08rem}
.muted,small,figcaption{color:var(--soft)}
.notice{border-left:4px solid var(--line);background:var(--card);padding:.6rem .9rem;margin:1rem 0;
border-radius:0 8px 8px 0;max-width:none}
.notice.pass{border-color:var(--green)}.notice.open{border-color:var(--amber)}
.notice.fail{border-color:var(--red)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(148px,1fr));gap:10px;
margin:1rem 0}
.cards div{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:.6rem .8rem}
dt{color:var(--soft);font-size:.85rem}
dd{margin:0;font-size:1.3rem;font-weight:600;font-variant-numeric:tabular-nums;line-height:1.3}
dd small{display:block;font-size:.78rem;font-weight:400}
.checks{list-style:none;margin:.5rem 0;padding:0}
.checks li{display:grid;grid-template-columns:4.6rem 1fr;gap:.5rem;padding:.4rem 0;
border-top:1px solid var(--line)}
.mark{font-weight:600}.mark.pass{color:var(--green)}.mark.fail{color:var(--red)}
.mark.open{color:var(--amber)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr));gap:14px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px;
min-width:0;max-width:600px}
figcaption{font-size:.88rem;margin-top:.4rem}
svg{display:block;width:100%;max-width:520px;height:auto;margin:0 auto}
svg text{font-size:12px;fill:var(--soft);unicode-bidi:isolate}
svg .name{font-size:12.5px;fill:var(--ink)}
.grid{stroke:var(--grid);fill:none}.axis{stroke:var(--soft);fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.line.objective{stroke:var(--blue)}.line.bound{stroke:var(--orange);stroke-dasharray:6 3}
.line.other{stroke:var(--soft);stroke-width:1.2;opacity:.75}
.line.diagonal{stroke:var(--orange);stroke-width:1.4;stroke-dasharray:5 4}
.area.gap{fill:rgba(var(--cell),.14)}
.dot.objective,.dot.faint{fill:var(--blue)}.dot.faint{fill-opacity:.55}
.dot.bound{fill:var(--orange)}.dot.other{fill:var(--soft)}
.dot.chosen{fill:none;stroke:var(--orange);stroke-width:2.5}
.cells.bars{fill:var(--blue);stroke:var(--card)}
.cells.level1{fill:rgba(var(--cell),.2)}.cells.level2{fill:rgba(var(--cell),.35)}
.cells.level3{fill:rgba(var(--cell),.5)}.cells.level4{fill:rgba(var(--cell),.66)}
.cells.level5{fill:rgba(var(--cell),.83)}.cells.level6{fill:rgb(var(--cell))}
.key{display:inline-block;width:1.5em;border-top:3px solid;vertical-align:middle;margin-right:.25em}
.key.objective{border-color:var(--blue)}.key.bound{border-color:var(--orange);border-style:dashed}
.key.other{border-color:var(--soft)}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:10px;
margin:.6rem 0}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.45rem .7rem;border-top:1px solid var(--line);
min-width:5.5rem}
thead th{border-top:0;color:var(--soft);font-weight:600;font-size:.85rem}
tbody{font-variant-numeric:tabular-nums}tbody th{font-weight:600}
tr.marked{background:rgba(var(--cell),.1)}
.bar{display:block;height:4px;border-radius:2px;background:var(--blue);margin-top:.3rem;min-width:2px}
.bar.minus{background:var(--orange)}
summary{cursor:pointer}
:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
footer{margin-top:2.5rem;border-top:1px solid var(--line);padding-top:.8rem;font-size:.88rem;
color:var(--soft)}
@media (max-width:640px){
main{padding:16px 16px 32px}
h1{font-size:1.35rem}
.cards{grid-template-columns:repeat(2,minmax(0,1fr))}
dd{font-size:1.12rem}
svg text,svg .name{font-size:14px}
.stack thead{display:none}
.stack tr{display:block;padding:.5rem 0;border-top:1px solid var(--line)}
.stack tr:first-child{border-top:0}
.stack th,.stack td{display:grid;grid-template-columns:minmax(0,6.5rem) minmax(0,1fr);gap:.5rem;
border:0;padding:.15rem .8rem;min-width:0}
.stack th::before,.stack td::before{content:attr(data-label);color:var(--soft);font-weight:400}
}
@media print{
:root{--page:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--grid:#ddd;--blue:#0b62a8;
--orange:#b24a00;--green:#0f6b4f;--red:#a8213b;--amber:#7a5600;--cell:11,98,168}
body{font-size:11pt}main{max-width:none;padding:0}
figure,.cards div,tr,.checks li{break-inside:avoid}h2,h3{break-after:avoid}
.scroll{overflow:visible}
}
"""
"""No font, picture or script is fetched. Text has a contrast of at least 4.5 on either ground."""
