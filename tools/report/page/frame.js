"use strict";
const measured = JSON.parse(document.getElementById("data").textContent);
const labels = new Map(measured.peers.map(peer => [peer.name, peer.label]));
const label = name => labels.get(name) ?? name;
const colour = name => name == "weir" ? "var(--weir)" : "var(--peer)";
const style = {background: "none", color: "var(--text)", fontSize: "12px", fontFamily: "inherit"};

// Draws into every figure of a name, and anew when its width changes.
const drawings = [];
function draw(name, options) {
  for (const figure of document.querySelectorAll(`figure[data-plot="${name}"]`)) {
    const place = figure.querySelector(".plot");
    const title = figure.querySelector("strong").textContent;
    let drawn = 0;
    const redraw = () => {
      const width = Math.floor(place.clientWidth);
      if (!width || width == drawn) return;
      drawn = width;
      const all = [options(width, figure)].flat();
      place.replaceChildren(...all.map(one => Plot.plot({ariaLabel: title, style, width, ...one})));
    };
    // Drawing within the observation would be a change that it misses.
    new ResizeObserver(() => requestAnimationFrame(redraw)).observe(place);
    drawings.push({figure, again() { drawn = 0; redraw(); }});
  }
}

const redraw = name => drawings.filter(one => one.figure.dataset.plot == name).forEach(one => one.again());
