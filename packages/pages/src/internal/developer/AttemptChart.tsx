/** The last day of an application's attempts, as a chart and as a table. */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import { type Locale, textsIn } from "../Locale.ts"
import { Table } from "../Elements.tsx"
import { type AttemptHour, searchLimit } from "./SentDeliveries.ts"

/** `14:00`, in UTC. */
const hourOf = ({ startsAt }: AttemptHour): string => DateTime.formatIso(startsAt).slice(11, 16)

/** The end of an axis: 1, 2 or 5 times a power of ten. */
const topOf = (most: number): number => {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)))
  return power * ([1, 2, 5].find((factor) => factor * power >= most) ?? 10)
}

/** A part of a column: its class, its start and its end as shares of the axis. */
type Part = readonly [mark: string, from: number, to: number]

/** Columns with an axis: its ends are 0 and `top`, which has a unit. */
const Plot = ({ columns, hours, top }: {
  readonly columns: ReadonlyArray<ReadonlyArray<Part>>
  readonly hours: ReadonlyArray<AttemptHour>
  readonly top: string
}) => (
  <div class="plot">
    <p class="axis" aria-hidden="true">
      <span>{top}</span>
      <span>0</span>
    </p>
    <Columns columns={columns} />
    <Hours hours={hours} />
  </div>
)

/** Columns fill the width, so that a phone also shows the newest hours. Texts are HTML beside them. */
const Columns = ({ columns }: { readonly columns: ReadonlyArray<ReadonlyArray<Part>> }) => (
  <svg viewBox={`0 0 ${columns.length} 100`} preserveAspectRatio="none" aria-hidden="true">
    {columns.flatMap((parts, place) =>
      parts.filter(([, from, to]) => to > from).map(([mark, from, to]) => (
        <rect
          key={`${place} ${mark}`}
          class={mark}
          x={place + 0.12}
          width={0.76}
          y={100 * (1 - to)}
          height={100 * (to - from)}
        />
      ))
    )}
  </svg>
)

/** The title of a panel, and the meaning of its colours. */
const Legend = ({ marks, title }: {
  readonly title: string
  readonly marks: ReadonlyArray<readonly [mark: string, label: string]>
}) => (
  <p class="legend">
    <strong>{title}</strong>
    {marks.map(([mark, label]) => (
      <span key={mark}>
        <svg viewBox="0 0 1 1" aria-hidden="true">
          <rect class={mark} width={1} height={1} />
        </svg>{" "}
        {label}
      </span>
    ))}
  </p>
)

/** Labels of every third hour, below its column. */
const Hours = ({ hours }: { readonly hours: ReadonlyArray<AttemptHour> }) => (
  <p class="hours" aria-hidden="true">
    {hours.filter((_, place) => place % 3 === 1).map((hour) => <span key={hourOf(hour)}>{hourOf(hour)}</span>)}
  </p>
)

const countsOf = ({ delivered, failed }: AttemptHour, top: number): ReadonlyArray<Part> => [
  ["delivered", 0, delivered / top],
  ["failed", delivered / top, (delivered + failed) / top]
]

const latencyOf = ({ latency }: AttemptHour, top: number): ReadonlyArray<Part> =>
  Option.match(latency, {
    onNone: () => [],
    onSome: ({ medianMs, slowestMs }) => [
      ["slowest", 0, Math.max(0.01, slowestMs / top)],
      ["typical", 0, Math.max(0.01, medianMs / top)]
    ]
  })

/** The attempts of these hours: how many were delivered and failed, and how long receivers took. */
export const AttemptChart = ({ hours, locale }: {
  readonly hours: ReadonlyArray<AttemptHour>
  readonly locale: Locale
}) => {
  const { developer: { chart, deliveries, milliseconds }, number } = textsIn(locale)
  const sum = (of: (hour: AttemptHour) => number) => hours.reduce((total, hour) => total + of(hour), 0)
  const [delivered, failed] = [sum((hour) => hour.delivered), sum((hour) => hour.failed)]
  if (delivered + failed === 0) return <p class="muted">{chart.none}</p>
  const summary = chart.summary(delivered, failed)
  const most = topOf(Math.max(...hours.map((hour) => hour.delivered + hour.failed)))
  const slowest = topOf(
    Math.max(
      ...hours.map(({ latency }) => Option.match(latency, { onNone: () => 0, onSome: (took) => took.slowestMs }))
    )
  )
  return (
    <figure>
      <figcaption>{summary} {chart.limit(searchLimit)}</figcaption>
      <div class="chart">
        <Legend
          title={deliveries.attempts}
          marks={[["delivered", chart.delivered], ["failed", chart.failed]]}
        />
        <Plot top={chart.attempts(most)} columns={hours.map((hour) => countsOf(hour, most))} hours={hours} />
        <Legend
          title={chart.latency}
          marks={[["typical", chart.typical], ["slowest", chart.slowest]]}
        />
        <Plot top={milliseconds(slowest)} columns={hours.map((hour) => latencyOf(hour, slowest))} hours={hours} />
      </div>
      <details class="step">
        <summary>{chart.asTable}</summary>
        <Table
          label={chart.title}
          columns={[chart.hour, chart.delivered, chart.failed, chart.typical, chart.slowest]}
          rows={hours.filter((hour) => hour.delivered + hour.failed > 0).map((hour) => ({
            key: hourOf(hour),
            cells: [
              <time datetime={DateTime.formatIso(hour.startsAt)}>{hourOf(hour)}</time>,
              number(hour.delivered),
              number(hour.failed),
              ...Option.match(hour.latency, {
                onNone: () => ["–", "–"],
                onSome: ({ medianMs, slowestMs }) => [milliseconds(medianMs), milliseconds(slowestMs)]
              })
            ]
          }))}
        />
      </details>
    </figure>
  )
}
