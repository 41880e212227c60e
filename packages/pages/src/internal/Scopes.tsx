/** Scopes in words. */
import type { Scope } from "@startlist/core/Token"
import { type Locale, messagesIn } from "./Locale.ts"

export const Scopes = ({ locale, scope }: { readonly locale: Locale; readonly scope: Scope }) => (
  <ul>
    {scope.map((name) => {
      const words = messagesIn(locale).scope(name)
      return (
        <li key={name}>
          {words === undefined ? <code>{name}</code> : (
            <>
              {words} <code>{name}</code>
            </>
          )}
        </li>
      )
    })}
  </ul>
)
