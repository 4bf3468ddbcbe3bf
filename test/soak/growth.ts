/** How fast a figure grows: the slope of the straight line that fits it best. */

export interface Point {
  readonly minute: number;
  readonly value: number;
}

/** Growth for each minute by least squares; 0 for fewer than two points. */
export function growthPerMinute(points: readonly Point[]): number {
  const mean = (of: (point: Point) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const minute = mean((point) => point.minute);
  const value = mean((point) => point.value);
  let shared = 0;
  let spread = 0;
  for (const point of points) {
    shared += (point.minute - minute) * (point.value - value);
    spread += (point.minute - minute) ** 2;
  }
  return spread === 0 ? 0 : shared / spread;
}
