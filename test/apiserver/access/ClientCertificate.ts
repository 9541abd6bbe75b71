/** Users with client certificates: the common name is the user, and the organizations are the groups. */
import type { TLSSocket } from "node:tls"
import * as Failure from "../model/Failure.ts"
import * as User from "../model/User.ts"

/** The user of a connection; undefined if it has no certificate. Throws a Failure (401) for a certificate of another CA. */
export const userOf = (socket: TLSSocket): User.User | undefined => {
  const subject: Subject | undefined = socket.getPeerCertificate()?.subject
  if (subject === undefined) return undefined
  const [name] = valuesOf(subject.CN)
  if (!socket.authorized || name === undefined) throw Failure.unauthorized()
  return User.complete({ name, groups: valuesOf(subject.O) })
}

/** The subject of a certificate. An attribute that occurs several times is a list. */
interface Subject {
  readonly CN?: string | ReadonlyArray<string>
  readonly O?: string | ReadonlyArray<string>
}

const valuesOf = (value: string | ReadonlyArray<string> | undefined): ReadonlyArray<string> =>
  value === undefined ? [] : [value].flat()
