/** Creates certificates for the tests. */
import "reflect-metadata"
import * as x509 from "@peculiar/x509"

x509.cryptoProvider.set(crypto)

/** Key and certificates of a TLS server, in PEM. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

/** Contents of a certificate. */
export interface Subject {
  readonly names?: ReadonlyArray<string>
  readonly addresses?: ReadonlyArray<string>
  readonly notBefore?: Date
  readonly notAfter?: Date
}

export interface Authority {
  readonly pem: string
  readonly issue: (subject: Subject) => Promise<Pair>
  readonly selfSign: (subject: Subject) => Promise<Pair>
  /** Another authority, which this one has certified. */
  readonly certify: (name: string) => Promise<Authority>
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
const makeKeys = () => crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
const hours = (n: number) => new Date(Date.now() + n * 3_600_000)

const alternatives = ({ addresses = [], names = [] }: Subject) =>
  new x509.SubjectAlternativeNameExtension([
    ...names.map((value) => ({ type: "dns" as const, value })),
    ...addresses.map((value) => ({ type: "ip" as const, value }))
  ])

const exportKey = async (keys: CryptoKeyPair) =>
  x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY")

/** Name and keys of an authority. */
interface Issuer {
  readonly subject: string
  readonly keys: CryptoKeyPair
}

export const makeAuthority = async (name = "Test authority", issuer?: Issuer): Promise<Authority> => {
  const keys = await makeKeys()
  const root = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: issuer?.subject ?? `CN=${name}`,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    notBefore: hours(-48),
    notAfter: hours(48),
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)]
  })
  const times = (subject: Subject) => ({
    notBefore: subject.notBefore ?? hours(-24),
    notAfter: subject.notAfter ?? hours(24)
  })
  return {
    pem: root.toString("pem"),
    certify: (other) => makeAuthority(other, { subject: root.subject, keys }),
    issue: async (subject) => {
      const own = await makeKeys()
      const certificate = await x509.X509CertificateGenerator.create({
        subject: "CN=Test receiver",
        issuer: root.subject,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        ...times(subject),
        extensions: [alternatives(subject)]
      })
      return { cert: certificate.toString("pem"), key: await exportKey(own) }
    },
    selfSign: async (subject) => {
      const own = await makeKeys()
      const certificate = await x509.X509CertificateGenerator.createSelfSigned({
        name: "CN=Self-signed receiver",
        keys: own,
        signingAlgorithm: algorithm,
        ...times(subject),
        extensions: [alternatives(subject)]
      })
      return { cert: certificate.toString("pem"), key: await exportKey(own) }
    }
  }
}
