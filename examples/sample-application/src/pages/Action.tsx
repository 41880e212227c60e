/** A button for one action. */

export const Action = ({ fields = {}, label, to }: {
  readonly to: string
  readonly label: string
  readonly fields?: Readonly<Record<string, string>>
}) => (
  <form method="post" action={to}>
    {Object.entries(fields).map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
    <button type="submit">{label}</button>
  </form>
)

/** A part of a secret by which people recognise it: its kind and its ends. */
export const Shortened = ({ secret }: { readonly secret: string }) => (
  <code class="secret">{`${secret.slice(0, 10)}…${secret.slice(-4)}`}</code>
)
