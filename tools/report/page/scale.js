// A row a peer, a dot a number of Envoys: the more of them, the larger.
function fleets(field, axis) {
  return width => d3.groups(measured.scale, d => d.limit).map(([limit, some], i, all) => ({
    width: side(width, all.length, 480), height: new Set(some.map(d => d.way)).size * 26 + 66, marginLeft: 170, marginTop: 26, marginRight: 20,
    marginBottom: 38, ariaLabel: `${limit}: ${axis.label}`,
    x: {domain: [0, Math.max(1, d3.max(some, d => d[field]))], grid: true, ticks: 3, ...axis},
    y: {domain: [...new Set(some.map(d => d.way))], label: null, tickSize: 0},
    r: {type: "log", domain: [1, 10000], range: [3, 8]},
    marks: [
      Plot.line(some, {x: field, y: "way", z: "way", stroke: d => accent(d.way), strokeOpacity: .4}),
      Plot.dot(some, {x: field, y: "way", r: "envoys", stroke: d => accent(d.way), strokeWidth: 2, fill: d => accent(d.way), fillOpacity: .25,
        title: d => `${d.way}, ${d.envoys.toLocaleString("en")} Envoys: ${d[field].toFixed(3)}`}),
      Plot.text([limit], {text: d => d, frameAnchor: "top-left", fontWeight: 700, dy: -22}),
    ],
  }));
}

draw("scale", fleets("efficiency", {label: "efficiency"}));
draw("scale-refused", fleets("refused", {label: "refused", tickFormat: "%"}));
