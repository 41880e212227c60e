/** Users, password hashes, sessions and the audit trail in memory. Only for tests. */
import { type Secrets, User } from "@startlist/core"
import { type Account, AccountStore, isLive, type Session } from "@startlist/node/accounts/AccountStore"
import { type AuditEntry, AuditLog, makeRecord, type NewAuditEntry, type Party } from "@startlist/node/data/AuditLog"
import { Accounts } from "@startlist/pages"
import { Users } from "@startlist/postgres"
import { Context, Effect, Layer, Option } from "effect"

/** Users, password hashes and sessions in memory. */
export const accounts: Layer.Layer<AccountStore | User.UserStore> = Layer.effectContext(
  Effect.sync(() => {
    const all = new Map<User.UserId, Account>()
    const sessions = new Map<Secrets.Fingerprint, Session>()
    const accountOf = (email: string) =>
      [...all.values()].find(({ user }) => user.email.toLowerCase() === email.toLowerCase())
    const userOf = (id: User.UserId) => Option.map(Option.fromNullable(all.get(id)), ({ user }) => user)
    const endSessions = (id: User.UserId, except?: Secrets.Fingerprint) =>
      Effect.sync(() => {
        const ended = [...sessions.values()].filter(({ hash, userId }) => userId === id && hash !== except)
        for (const { hash } of ended) sessions.delete(hash)
        return ended.length
      })
    const store = AccountStore.of({
      insert: (given, passwordHash) =>
        Effect.suspend(() => {
          if (accountOf(given.email) !== undefined) return new Users.EmailTaken({ email: given.email })
          const user = { ...given, id: User.UserId.make(all.size + 1) }
          all.set(user.id, { user, passwordHash, disabled: false })
          return Effect.succeed(user)
        }),
      add: (account) =>
        Effect.suspend(() => {
          const { email, id } = account.user
          if (all.has(id)) return Effect.succeed(false)
          if (accountOf(email) !== undefined) return new Users.EmailTaken({ email })
          all.set(id, account)
          return Effect.succeed(true)
        }),
      findByEmail: (email) => Effect.sync(() => Option.fromNullable(accountOf(email))),
      find: (id) => Effect.sync(() => Option.fromNullable(all.get(id))),
      list: ({ after, limit }) =>
        Effect.sync(() =>
          [...all.values()].reverse().filter(({ user }) => Option.isNone(after) || user.id < after.value)
            .slice(0, limit)
        ),
      setDisabled: (id, disabled) =>
        Effect.suspend(() => {
          const account = all.get(id)
          if (account === undefined) return Effect.succeed(false)
          all.set(id, { ...account, disabled })
          return Effect.as(disabled ? endSessions(id) : Effect.void, true)
        }),
      listSessions: (id) =>
        Effect.sync(() =>
          [...sessions.values()].filter(({ userId }) => userId === id)
            .sort((a, b) => b.startedAt.epochMillis - a.startedAt.epochMillis)
        ),
      endSessions,
      replacePassword: ({ except, from, id, to }) =>
        Effect.suspend(() => {
          const account = all.get(id)
          if (account?.passwordHash !== from) return Effect.succeed(false)
          all.set(id, { ...account, passwordHash: to })
          return Effect.as(endSessions(id, except), true)
        }),
      insertSession: (session, passwordHash) =>
        Effect.sync(() => {
          const account = all.get(session.userId)
          const isGood = account?.passwordHash === passwordHash && !account.disabled
          if (isGood) {
            const own = [...sessions.values()].filter(({ userId }) => userId === session.userId)
            own.sort((one, other) => one.startedAt.epochMillis - other.startedAt.epochMillis)
            for (const { hash } of own.slice(0, -(Accounts.maxSessions - 1))) sessions.delete(hash)
            sessions.set(session.hash, session)
          }
          return isGood
        }),
      findSession: (hash) =>
        Effect.sync(() =>
          Option.flatMap(
            Option.fromNullable(sessions.get(hash)),
            (session) =>
              all.get(session.userId)?.disabled === true
                ? Option.none()
                : Option.map(userOf(session.userId), (user) => ({ user, session }))
          )
        ),
      touchSession: (hash, seenAt) =>
        Effect.sync(() => {
          const session = sessions.get(hash)
          if (session !== undefined) sessions.set(hash, { ...session, seenAt })
        }),
      removeSession: (hash) => Effect.sync(() => sessions.delete(hash)),
      purgeSessions: (now, limit) =>
        Effect.sync(() => {
          const over = [...sessions.values()].filter((session) => !isLive(session, now)).slice(0, limit)
          for (const { hash } of over) sessions.delete(hash)
          return over.length
        })
    })
    return Context.make(AccountStore, store).pipe(
      Context.add(User.UserStore, { find: (id) => Effect.sync(() => userOf(id)) })
    )
  })
)

/** The audit trail in memory. */
export const audit: Layer.Layer<AuditLog> = Layer.scoped(
  AuditLog,
  Effect.gen(function*() {
    let entries: ReadonlyArray<AuditEntry> = []
    let lastId = 0
    const append = (entry: NewAuditEntry) =>
      Effect.sync(() => {
        entries = [{ ...entry, id: ++lastId }, ...entries]
      })
    return {
      append,
      record: yield* makeRecord(append),
      together: (effect) => effect,
      list: ({ action, after, applicationId, limit, since, until, userId }) => {
        const isAbout = (type: Party["type"], id: Option.Option<number>) => ({ actor, subject }: AuditEntry): boolean =>
          Option.isNone(id) || [actor, subject].some((party) => party.type === type && party.id === id.value)
        return Effect.sync(() =>
          entries
            .filter(({ id }) => Option.isNone(after) || id < after.value)
            .filter((entry) => Option.isNone(action) || entry.action === action.value)
            .filter(isAbout("user", userId))
            .filter(isAbout("application", applicationId))
            .filter(({ at }) => Option.isNone(since) || at.epochMillis >= since.value.epochMillis)
            .filter(({ at }) => Option.isNone(until) || at.epochMillis < until.value.epochMillis)
            .slice(0, limit)
        )
      },
      purge: (before) =>
        Effect.sync(() => {
          const kept = entries.filter(({ at }) => at.epochMillis >= before.epochMillis)
          const gone = entries.length - kept.length
          entries = kept
          return gone
        })
    }
  })
)
