"""How the page of a report looks, in the reader's light or dark theme, and the script that filters it. Its text is in html.py."""

from typing import Final

HEAD: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; img-src data:; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>dynamo-webhooks check</title>"""

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1f2328;--dim:#59636e;--page:#fff;--card:#f6f8fa;--line:#d1d9e0;--link:#0550ae;
--error:#b3151f;--warning:#7d4e00;--mark:#ffd9d6;--markline:#fff4f3}
@media(prefers-color-scheme:dark){:root{--ink:#f0f6fc;--dim:#9198a1;--page:#0d1117;--card:#151b23;--line:#3d444d;--link:#71b1ff;
--error:#ff8a84;--warning:#e3b341;--mark:#7d2a2f;--markline:#2a1a1d}}
*{box-sizing:border-box}body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1.5rem 0 .5rem;overflow-wrap:anywhere}
h4{margin:.75rem 0 .25rem}p{margin:.4rem 0}a{color:var(--link)}code,pre,.frame{font:13px/1.45 ui-monospace,monospace}
.beside{display:flex;flex-wrap:wrap;column-gap:4rem}
table{border-collapse:collapse}th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line)}
td.n,th.n{text-align:right}td{overflow-wrap:anywhere}
article{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.75rem 1rem;margin:.75rem 0;overflow-wrap:anywhere}
.level{font-weight:600}.error,.fault{color:var(--error)}.warning{color:var(--warning)}.dim{color:var(--dim)}
pre,.frame{overflow-x:auto;margin:.5rem 0;border:1px solid var(--line);border-radius:6px;background:var(--page)}
pre{padding:.5rem}.frame div{white-space:pre;padding:0 .5rem}.frame .hit{background:var(--markline)}
.frame i{display:inline-block;width:4rem;font-style:normal;color:var(--dim);text-align:right;padding-right:1rem;user-select:none}
mark{background:var(--mark);color:inherit;border-radius:3px}
#filter{position:sticky;top:0;background:var(--page);border-bottom:1px solid var(--line);padding:.5rem 0;display:flex;gap:1rem;
flex-wrap:wrap;align-items:center;z-index:1}#filter[hidden],.gone{display:none}
input[type=search]{font:inherit;padding:.3rem .6rem;border:1px solid var(--line);border-radius:6px;background:var(--card);color:var(--ink);
min-width:16rem}
button{font:inherit;color:var(--link);background:none;border:0;padding:0;cursor:pointer;text-decoration:underline}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:8px;margin:.5rem 0;display:block}
"""

SCRIPT: Final = """
"use strict";
const bar = document.getElementById("filter"), words = document.getElementById("words"), count = document.getElementById("count");
const levels = [...bar.querySelectorAll("[type=checkbox]")];
const files = [...document.querySelectorAll("section.file")].map(
  file => [file, [...file.querySelectorAll("article")].map(one => [one, one.textContent.toLowerCase()])]);
function sift() {
  const wanted = words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const asked = new Set(levels.filter(one => one.checked).map(one => one.value));
  let shown = 0, all = 0;
  for (const [file, findings] of files) {
    let here = 0;
    for (const [one, text] of findings) {
      const fits = asked.has(one.dataset.level) && wanted.every(word => text.includes(word));
      one.classList.toggle("gone", !fits);
      here += fits;
      all += 1;
    }
    file.classList.toggle("gone", !here);
    shown += here;
  }
  count.textContent = `${shown} of ${all} shown`;
}
bar.hidden = false;
bar.addEventListener("input", sift);
document.addEventListener("click", event => {
  const word = event.target.dataset && event.target.dataset.word;
  if (!word) return;
  words.value = word;
  sift();
  bar.scrollIntoView();
});
sift();
"""
