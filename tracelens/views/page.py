"""The style and the script of the HTML page."""

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1b1f24; --soft: #5c6570; --paper: #fff; --panel: #f5f7f9; --line: #dde2e7; --link: #0b5cad; --warn: #9a5b00;
  --launch: #b45309; --copy: #7c3aed; --communication: #0f766e; --compute: #1d6f42; --unknown: #5c6570;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e9ed; --soft: #9aa4b0; --paper: #14181d; --panel: #1c2229; --line: #323a44; --link: #79b8ff;
    --warn: #f0b35c;
    --launch: #f5a45b; --copy: #b99cf7; --communication: #5ecfc1; --compute: #6fd08c; --unknown: #9aa4b0;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; }
a { color: var(--link); }
code, td.text, th[scope=row], .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; font-size: .86em; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .3rem .6rem; z-index: 9; }
.frame { display: grid; grid-template-columns: 14rem minmax(0, 1fr); max-width: 96rem; margin: 0 auto; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; font-size: .9rem;
  padding: 1.6rem 1rem 1.6rem 1.4rem; }
nav ul { list-style: none; margin: .4rem 0; padding: 0; }
nav li { margin: .28rem 0; }
nav a { text-decoration: none; }
nav a:hover, nav a:focus { text-decoration: underline; }
nav .off a { color: var(--soft); }
main { padding: 1.4rem 1.8rem 3rem; min-width: 0; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; line-height: 1.35; margin: 0 0 .5rem; }
h2 .name { color: var(--soft); font-weight: 400; font-size: .8em; margin-left: .4rem; }
.about { color: var(--soft); margin: 0 0 1.4rem; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: 1.5rem 0 1.2rem; }
section.verdict { border: 0; padding-top: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: .9rem; margin: .4rem 0 1rem; }
.card { background: var(--panel); border-left: .3rem solid var(--unknown); border-radius: .3rem; padding: .8rem 1rem; }
.card p { margin: .1rem 0; }
.card .where { color: var(--soft); font-size: .85rem; }
.card .bound { font-size: 1.35rem; font-weight: 650; line-height: 1.3; }
.card .value { font-size: 1.05rem; font-variant-numeric: tabular-nums; }
.launch { border-color: var(--launch); } .copy { border-color: var(--copy); }
.communication { border-color: var(--communication); } .compute { border-color: var(--compute); }
.launch .bound { color: var(--launch); } .copy .bound { color: var(--copy); }
.communication .bound { color: var(--communication); } .compute .bound { color: var(--compute); }
ul.notes { margin: .2rem 0 .9rem; padding-left: 1.15rem; max-width: 60rem; overflow-wrap: anywhere; }
ul.notes li { margin: .2rem 0; }
.missing { color: var(--warn); max-width: 60rem; overflow-wrap: anywhere; }
figure { margin: .6rem 0 1.1rem; }
.chart { width: 100%; min-height: 2rem; overflow-x: auto; }
figcaption, caption, .rest { color: var(--soft); font-size: .87rem; text-align: left; }
caption { padding: .45rem .7rem; white-space: normal; max-width: 60rem; }
.scroll { overflow-x: auto; max-height: 32rem; border: 1px solid var(--line); border-radius: .3rem; }
.scroll:focus { outline: 2px solid var(--link); }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { padding: .26rem .7rem; text-align: left; white-space: nowrap; }
thead th { position: sticky; top: 0; background: var(--panel); font-weight: 600; vertical-align: bottom; }
thead .unit { color: var(--soft); font-weight: 400; }
tbody tr { border-top: 1px solid var(--line); }
tbody tr:hover { background: var(--panel); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td.text, th[scope=row] { max-width: 34rem; overflow: hidden; text-overflow: ellipsis; font-weight: 400; }
td.prose { white-space: normal; min-width: 18rem; max-width: 44rem; overflow-wrap: anywhere; }
.chart .mark-text text { fill: var(--ink); }
.chart .role-axis-grid line { stroke: var(--line); }
.chart .role-axis-domain line, .chart .role-axis-tick line { stroke: var(--soft); }
.chart .mark-group path.background { stroke: none; }
#vg-tooltip-element { position: fixed; visibility: hidden; z-index: 99; padding: .45rem .6rem; background: var(--paper);
  color: var(--ink); border: 1px solid var(--line); border-radius: .3rem; box-shadow: 0 2px 10px rgb(0 0 0 / .25);
  font-size: .82rem; max-width: 40rem; }
#vg-tooltip-element.visible { visibility: visible; }
#vg-tooltip-element table { width: auto; }
#vg-tooltip-element td { padding: .05rem .3rem; white-space: normal; overflow-wrap: anywhere; border: 0; }
#vg-tooltip-element td.key { color: var(--soft); white-space: nowrap; text-align: right; }
@media (max-width: 60rem) {
  .frame { display: block; }
  nav { position: static; max-height: none; padding-bottom: 0; }
  nav ul { columns: 2; }
  main { padding: 1rem; }
}
@media print { nav, .skip { display: none; } .frame { display: block; } .scroll { max-height: none; overflow: visible; }
  section { break-inside: avoid-page; } }
"""

SCRIPT = """
"use strict";
{
  const options = {
    ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: {disableDefaultStyle: true}
  };
  for (const place of document.querySelectorAll("[data-chart]")) {
    const spec = JSON.parse(document.getElementById(place.dataset.chart).textContent);
    window.vegaEmbed(place, spec, options).catch((error) => {
      console.error(error);
      place.textContent = "This chart could not be drawn: " + error.message;
    });
  }
}
"""
"""Draws each chart from its JSON. `ast` makes Vega walk expressions instead of compiling them, so no eval is needed."""
