/** The model that `@node-oauth/oauth2-server` needs, with a store of tokens by their hashes. */
import type { RefreshTokenModel, Token } from "@node-oauth/oauth2-server"
import { scope } from "../Protocol.ts"
import { fingerprint, makeToken } from "./Listening.ts"

export interface StoredToken {
  readonly clientId: string
  readonly userId: number
  readonly scope: string
  readonly expiresAt: Date
}

/** Store of clients and tokens. */
export interface TokenStore {
  readonly findClientSecret: (clientId: string) => Promise<string | undefined>
  readonly findRefresh: (hash: string) => Promise<StoredToken | undefined>
  readonly findAccess: (hash: string) => Promise<StoredToken | undefined>
  /** Removes a token. Returns whether it was stored: of two refreshes with one token, only one succeeds. */
  readonly removeRefresh: (hash: string) => Promise<boolean>
  readonly save: (tokens: {
    readonly access: readonly [hash: string, token: StoredToken]
    readonly refresh: readonly [hash: string, token: StoredToken]
  }) => Promise<void>
}

const grants = ["refresh_token"]

export const make = (store: TokenStore): RefreshTokenModel => {
  const toToken = ({ clientId, expiresAt, scope, userId }: StoredToken) => ({
    expiresAt,
    scope: scope.split(" "),
    client: { id: clientId, grants },
    user: { id: userId }
  })
  return {
    generateAccessToken: async () => makeToken(),
    generateRefreshToken: async () => makeToken(),
    getClient: async (id, secret) => {
      const expected = await store.findClientSecret(id)
      return expected !== undefined && expected === fingerprint(secret) && { id, grants }
    },
    getRefreshToken: async (refreshToken) => {
      const found = await store.findRefresh(fingerprint(refreshToken))
      if (found === undefined) return false
      const { expiresAt, ...token } = toToken(found)
      return { ...token, refreshToken, refreshTokenExpiresAt: expiresAt }
    },
    revokeToken: ({ refreshToken }) => store.removeRefresh(fingerprint(refreshToken)),
    saveToken: async (token, client, user) => {
      const stored = (expiresAt: Date | undefined): StoredToken => ({
        clientId: client.id,
        userId: user["id"],
        scope: (token.scope ?? []).join(" "),
        expiresAt: expiresAt ?? new Date(0)
      })
      await store.save({
        access: [fingerprint(token.accessToken), stored(token.accessTokenExpiresAt)],
        refresh: [fingerprint(token.refreshToken ?? ""), stored(token.refreshTokenExpiresAt)]
      })
      return { ...token, client, user }
    },
    getAccessToken: async (accessToken): Promise<Token | false> => {
      const found = await store.findAccess(fingerprint(accessToken))
      if (found === undefined) return false
      const { expiresAt, ...token } = toToken(found)
      return { ...token, accessToken, accessTokenExpiresAt: expiresAt }
    },
    verifyScope: async ({ scope: granted }) => granted?.includes(scope) ?? false
  }
}
