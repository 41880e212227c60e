/** The last day of an application's attempts: drawn, and as a table for those who cannot or do not want to see it drawn. */
import { scaleBand, scaleLinear } from "d3-scale"
import { line } from "d3-shape"
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import { lastDayLimit } from "@startlist/core/Deliveries"
import type { AttemptHour } from "@startlist/core/Delivery"
import { type Locale, messagesIn } from "../Locale.ts"
import { Scroll, Table } from "../Table.tsx"

const [width, left, right] = [720, 44, 8]
/** Upper and lower edge of the two panels. */
const counts = { top: 24, bottom: 150 }
const latency = { top: 196, bottom: 276 }
const height = 284

/** `14:00`, in UTC. */
const hourOf = ({ startsAt }: AttemptHour): string => DateTime.formatIso(startsAt).slice(11, 16)

const columns = (hours: ReadonlyArray<AttemptHour>) =>
  scaleBand<AttemptHour>().domain(hours).range([left, width - right]).padding(0.25)

type Columns = ReturnType<typeof columns>

/** Where a column begins. */
const startOf = (x: Columns, hour: AttemptHour): number => x(hour) ?? left
const middleOf = (x: Columns, hour: AttemptHour): number => startOf(x, hour) + x.bandwidth() / 2

const Axis = ({ scale, ticks }: {
  readonly scale: ReturnType<typeof scaleLinear<number>>
  readonly ticks: ReadonlyArray<number>
}) => (
  <>
    {ticks.map((tick) => (
      <g key={tick}>
        <line class="rule" x1={left} x2={width - right} y1={scale(tick)} y2={scale(tick)} />
        <text x={left - 6} y={scale(tick) + 4} text-anchor="end">{tick}</text>
      </g>
    ))}
  </>
)

const Counts = ({ hours, x }: { readonly hours: ReadonlyArray<AttemptHour>; readonly x: Columns }) => {
  const most = Math.max(1, ...hours.map(({ delivered, failed }) => delivered + failed))
  const y = scaleLinear<number>().domain([0, most]).nice(4).range([counts.bottom, counts.top])
  return (
    <g>
      <Axis scale={y} ticks={y.ticks(4).filter(Number.isInteger)} />
      {hours.map((hour) => (
        <g key={hourOf(hour)}>
          <rect
            class="delivered"
            x={startOf(x, hour)}
            width={x.bandwidth()}
            y={y(hour.delivered)}
            height={y(0) - y(hour.delivered)}
          />
          <rect
            class="failed"
            x={startOf(x, hour)}
            width={x.bandwidth()}
            y={y(hour.delivered + hour.failed)}
            height={y(0) - y(hour.failed)}
          />
        </g>
      ))}
    </g>
  )
}

const Latency = ({ hours, x }: { readonly hours: ReadonlyArray<AttemptHour>; readonly x: Columns }) => {
  const known = hours.flatMap((hour) =>
    Option.match(hour.latency, { onNone: () => [], onSome: (took) => [{ hour, took }] })
  )
  const y = scaleLinear<number>()
    .domain([0, Math.max(10, ...known.map(({ took }) => took.slowestMs))])
    .nice(3)
    .range([latency.bottom, latency.top])
  const path = (of: (took: { readonly medianMs: number; readonly slowestMs: number }) => number) =>
    line<AttemptHour>()
      .defined((hour) => Option.isSome(hour.latency))
      .x((hour) => middleOf(x, hour))
      .y((hour) => Option.match(hour.latency, { onNone: () => 0, onSome: (took) => y(of(took)) }))(hours) ?? ""
  return (
    <g>
      <Axis scale={y} ticks={y.ticks(3)} />
      <path class="slowest" d={path(({ slowestMs }) => slowestMs)} />
      <path class="typical" d={path(({ medianMs }) => medianMs)} />
      {known.map(({ hour, took }) => (
        <g key={hourOf(hour)}>
          <circle class="dot upper" cx={middleOf(x, hour)} cy={y(took.slowestMs)} r={2.5} />
          <circle class="dot" cx={middleOf(x, hour)} cy={y(took.medianMs)} r={2.5} />
        </g>
      ))}
    </g>
  )
}

/** About how wide a text is, in the chart's units: the legend stands close, to be seen on a phone without scrolling. */
const widthOf = (text: string, isBold = false): number => text.length * (isBold ? 7.5 : 6.6)

/** A panel's title, and what the marks in it mean. */
const Legend = ({ entries, title, y }: {
  readonly title: string
  readonly y: number
  readonly entries: ReadonlyArray<readonly [mark: string, label: string]>
}) => (
  <g>
    <text class="heading" x={0} y={y}>{title}</text>
    {entries.map(([mark, label], index) => {
      const before = entries.slice(0, index).reduce((sum, [, text]) => sum + widthOf(text) + 34, 0)
      return (
        <g key={mark} transform={`translate(${Math.round(widthOf(title, true) + 12 + before)} ${y})`}>
          {mark === "typical" || mark === "slowest"
            ? <path class={mark} d="M0 -4H18" />
            : <rect class={mark} x={8} y={-10} width={10} height={10} />}
          <text x={23} y={0}>{label}</text>
        </g>
      )
    })}
  </g>
)

export const AttemptChart = ({ hours, locale }: {
  readonly hours: ReadonlyArray<AttemptHour>
  readonly locale: Locale
}) => {
  const { developer: { chart, deliveries, milliseconds }, number } = messagesIn(locale)
  const sum = (of: (hour: AttemptHour) => number) => hours.reduce((total, hour) => total + of(hour), 0)
  const [delivered, failed] = [sum((hour) => hour.delivered), sum((hour) => hour.failed)]
  if (delivered + failed === 0) return <p class="muted">{chart.none}</p>
  const x = columns(hours)
  const summary = chart.summary(number(delivered), number(failed))
  return (
    <figure>
      <figcaption>{summary} {chart.limit(number(lastDayLimit))}</figcaption>
      <Scroll label={chart.title}>
        <svg class="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${chart.title}: ${summary}`}>
          <Legend
            title={deliveries.attempts}
            y={12}
            entries={[["delivered", chart.delivered], ["failed", chart.failed]]}
          />
          <Counts hours={hours} x={x} />
          {hours.filter((_, index) => index % 3 === 2).map((hour) => (
            <text key={hourOf(hour)} x={middleOf(x, hour)} y={counts.bottom + 15} text-anchor="middle">
              {hourOf(hour)}
            </text>
          ))}
          <Legend
            title={`${chart.latency} (ms)`}
            y={latency.top - 12}
            entries={[["typical", chart.typical], ["slowest", chart.slowest]]}
          />
          <Latency hours={hours} x={x} />
        </svg>
      </Scroll>
      <details class="step">
        <summary>{chart.asTable}</summary>
        <Table
          label={chart.title}
          columns={[chart.hour, chart.delivered, chart.failed, chart.typical, chart.slowest]}
        >
          {hours.filter((hour) => hour.delivered + hour.failed > 0).map((hour) => (
            <tr key={hourOf(hour)}>
              <th scope="row">
                <time datetime={DateTime.formatIso(hour.startsAt)}>{hourOf(hour)}</time>
              </th>
              <td>{number(hour.delivered)}</td>
              <td>{number(hour.failed)}</td>
              {Option.match(hour.latency, {
                onNone: () => (
                  <>
                    <td>–</td>
                    <td>–</td>
                  </>
                ),
                onSome: ({ medianMs, slowestMs }) => (
                  <>
                    <td>{milliseconds(number(medianMs))}</td>
                    <td>{milliseconds(number(slowestMs))}</td>
                  </>
                )
              })}
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  )
}
