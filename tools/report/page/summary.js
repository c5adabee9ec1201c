// One dot a model and load, a row a peer; the bar is the mean of the dots.
function strip(field, axis) {
  return width => {
    const rows = field == "efficiency" ? d3.groupSort(measured.cells, cells => -d3.mean(cells, d => d[field]), d => d.peer)
      : measured.peers.map(peer => peer.name);
    const tip = d => `${label(d.peer)}, ${d.model}, ${d.load}: ${axis.show(d[field])}`;
    return {
      height: rows.length * 22 + 50, marginLeft: 140, marginRight: 20, marginBottom: 36,
      x: {grid: true, ...axis.scale},
      y: {domain: rows, label: null, tickFormat: label, tickSize: 0},
      marks: [
        Plot.dot(measured.cells, {x: field, y: "peer", r: 3, fill: d => colour(d.peer), fillOpacity: .45, title: tip}),
        Plot.tickX(measured.cells, Plot.groupY({x: "mean"}, {x: field, y: "peer", stroke: d => colour(d.peer), strokeWidth: 3, inset: 2})),
      ],
    };
  };
}

draw("efficiency", strip("efficiency", {show: v => v.toFixed(3), scale: {domain: [0, Math.max(1, d3.max(measured.cells, d => d.efficiency))], label: "efficiency"}}));
draw("refused", strip("refused", {show: d3.format(".1%"), scale: {domain: [0, 1], tickFormat: "%", label: "refused"}}));
draw("wait", strip("wait", {show: v => `${v.toFixed(1)} s`, scale: {type: "sqrt", domain: [0, 35], ticks: [0, 1, 3, 10, 20, 30], label: "seconds"}}));
