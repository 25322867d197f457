/** One bar of a chart: stacked parts, from the bottom up. */
interface Bar {
  /** The text for screen readers: `3 Nov: 120 requests`. */
  readonly label: string
  readonly parts: readonly number[]
}

/** The content of a chart. */
interface BarChart {
  /** Distinguishes charts on one page. */
  readonly id: string
  readonly title: string
  /** The chart's content in a sentence. */
  readonly description: string
  /** Names of the parts of each bar, which have the colours `chart-part-1`, `chart-part-2` … */
  readonly parts: readonly string[]
  readonly bars: readonly Bar[]
  /** The labels under the first, the middle and the last bar. */
  readonly axisLabels: readonly string[]
}

const width = 1_000
const height = 200

/** Bars over time. Text is outside the drawing, so that its size does not change when the drawing is narrow. */
export function Chart ({ id, title, description, parts, bars, axisLabels }: BarChart) {
  const top = computeAxisMaximum(Math.max(0, ...bars.map(({ parts }) => sum(parts))))
  return (
    <figure class='chart'>
      <figcaption>
        <span class='chart-top' safe>
          {new Intl.NumberFormat('en-US').format(top)}
        </span>
        <span class='chart-legend'>
          {parts.map((part, at) => <span class={`chart-key chart-part-${at + 1}`} safe>{part}</span>)}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio='none'
        role='img'
        aria-labelledby={`${id}-title ${id}-description`}
      >
        <title id={`${id}-title`} safe>{title}</title>
        <desc id={`${id}-description`} safe>{description}</desc>
        {[0, 0.5, 1].map(share => (
          <line class='chart-line' x1='0' x2={String(width)} y1={String(height * share)} y2={String(height * share)} />
        ))}
        {bars.map((bar, at) => <Column bar={bar} top={top} slot={{ at, of: bars.length }} />)}
      </svg>
      <div class='chart-marks'>
        {axisLabels.map(label => <span safe>{label}</span>)}
      </div>
    </figure>
  )
}

interface Slot { readonly at: number, readonly of: number }

function Column ({ bar, top, slot }: { readonly bar: Bar, readonly top: number, readonly slot: Slot }) {
  const slotWidth = width / slot.of
  const heights = bar.parts.map(part => part / top * height)
  return (
    <g>
      <title safe>{bar.label}</title>
      <rect class='chart-slot' x={formatCoordinate(slot.at * slotWidth)} y='0' width={formatCoordinate(slotWidth)} height={String(height)} />
      {heights.map((part, at) =>
        part === 0
          ? ''
          : (
            <rect
              class={`chart-part-${at + 1}`}
              x={formatCoordinate((slot.at + 0.15) * slotWidth)}
              y={formatCoordinate(height - sum(heights.slice(0, at + 1)))}
              width={formatCoordinate(0.7 * slotWidth)}
              height={formatCoordinate(part)}
            />
            )
      )}
    </g>
  )
}

function formatCoordinate (coordinate: number): string {
  return String(Math.round(coordinate * 100) / 100)
}

/** A round number that is not less, with little room above: 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30 …; at least 1. */
export function computeAxisMaximum (max: number): number {
  if (max <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(max))
  const steps = power === 1 ? [1, 2, 3, 4, 5, 6, 8, 10] : [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
  return steps.map(step => step * power).find(nice => nice >= max)!
}

function sum (numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
