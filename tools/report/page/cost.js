// What is got out of the provider against what is asked of it in vain: one dot a peer.
const LETTER = 6.6, LINE = 14;

// A place for each label beside its dot where no other is, best first.
function placed(points, x, y, width) {
  const taken = points.map(point => box(x(point.refused) - 6, y(point.efficiency) - 6, 12, 12));
  return points.map(point => {
    const long = label(point.peer).length * LETTER, [px, py] = [x(point.refused), y(point.efficiency)];
    const sides = [[10, -LINE / 2], [-10 - long, -LINE / 2], [-long / 2, -LINE - 8], [-long / 2, 8]];
    const further = [1, 2, 3, 4, 5].flatMap(far => sides.map(([dx, dy]) => [dx, dy - far * LINE]).concat(sides.map(([dx, dy]) => [dx, dy + far * LINE])));
    const boxes = [...sides, ...further].map(([dx, dy]) => box(px + dx, py + dy, long, LINE));
    const free = boxes.find(b => b.left > 0 && b.right < width && !taken.some(other => meet(b, other))) ?? boxes[0];
    taken.push(free);
    return {...point, px, py, left: free.left, middle: (free.top + free.bottom) / 2};
  });
}

const box = (left, top, width, height) => ({left, top, right: left + width, bottom: top + height});
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

draw("cost", width => {
  const means = d3.rollups(measured.cells, cells => ({
    efficiency: d3.mean(cells, d => d.efficiency), refused: d3.mean(cells, d => d.refused),
  }), d => d.peer).map(([peer, of]) => ({peer, ...of}));
  const height = Math.max(360, Math.min(width * .6, 480));
  const frame = {left: 44, right: width - 16, top: 20, bottom: height - 40};
  const x = d3.scaleLinear([0, d3.max(means, d => d.refused) * 1.1], [frame.left, frame.right]);
  const y = d3.scaleLinear([Math.min(.5, d3.min(means, d => d.efficiency)), 1], [frame.bottom, frame.top]);
  const labelled = placed(means, x, y, width);
  return {
    height, marginLeft: frame.left, marginRight: 16, marginTop: frame.top, marginBottom: 40,
    x: {domain: x.domain(), tickFormat: "%", label: "attempts refused", grid: true},
    y: {domain: y.domain(), label: "efficiency", grid: true},
    marks: [
      Plot.link(labelled, {x1: "refused", y1: "efficiency", x2: d => x.invert(d.left + (d.left < d.px ? label(d.peer).length * LETTER : 0)),
        y2: d => y.invert(d.middle), stroke: "var(--line)"}),
      Plot.dot(means, {x: "refused", y: "efficiency", r: 5, fill: d => colour(d.peer)}),
      Plot.text(labelled, {x: d => x.invert(d.left), y: d => y.invert(d.middle), text: d => label(d.peer), textAnchor: "start",
        fill: d => colour(d.peer), fontWeight: d => d.peer == "weir" ? 700 : 400}),
    ],
  };
});
