/**
 * The destination of a Backup: `spec.destination` as a typed value, as restic's repository, and with restic's environment variables.
 * Pure. restic parses repositories in internal/backend (config.go of each folder).
 *
 * A destination never contains credentials: they are keys of a Secret with the names of restic's environment variables.
 */
import * as Result from "effect/Result"

/** A parsed destination. Paths have no slashes at their ends; an empty path is the root. */
export type Destination =
  | { readonly _tag: "S3"; readonly bucket: string; readonly path: string }
  /** `url` has no final slash: `https://backup.example.com:8000`. */
  | { readonly _tag: "Rest"; readonly url: string; readonly path: string }
  | { readonly _tag: "Gs"; readonly bucket: string; readonly path: string }
  | { readonly _tag: "Azure"; readonly container: string; readonly path: string }
  | { readonly _tag: "B2"; readonly bucket: string; readonly path: string }
  /** A volume in the Backup's namespace. */
  | { readonly _tag: "Pvc"; readonly claim: string; readonly path: string }

type Parsed = Result.Result<Destination, string>

const accepted =
  "s3://bucket/path, rest+https://host/path, gs://bucket/path, azure://container/path, b2://bucket/path, pvc://claim/path, or the name of an S3 bucket"

const segment = /^[A-Za-z0-9._=+-]+$/

/** A normalized path, or the rule that it breaks. One final slash is ignored; other empty segments would be folders without a name. */
const parsePath = (text: string): Result.Result<string, string> => {
  const path = text.replace(/\/$/, "")
  const isValid = (part: string): boolean => segment.test(part) && part !== "." && part !== ".."
  return path === "" || path.split("/").every(isValid)
    ? Result.succeed(path)
    : Result.fail("each part of the path must be letters, digits and . _ = + - only, and not . or ..")
}

const bucketNames = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

interface Scheme {
  /** The part before the path. */
  readonly name: string
  readonly pattern: RegExp
  readonly rule: string
  readonly make: (name: string, path: string) => Destination
}

const schemes: { readonly [scheme: string]: Scheme } = {
  s3: {
    name: "bucket",
    pattern: bucketNames,
    rule: "3 to 63 lower-case letters, digits, dots and dashes",
    make: (bucket, path) => ({ _tag: "S3", bucket, path })
  },
  "rest+https": {
    name: "host",
    pattern: /^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/,
    rule: "a host name or address, and a port if it is not 443",
    make: (host, path) => ({ _tag: "Rest", url: `https://${host}`, path })
  },
  gs: {
    name: "bucket",
    pattern: /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/,
    rule: "3 to 222 lower-case letters, digits, dots, dashes and underscores",
    make: (bucket, path) => ({ _tag: "Gs", bucket, path })
  },
  azure: {
    name: "container",
    pattern: /^[a-z0-9](-?[a-z0-9]){2,62}$/,
    rule: "3 to 63 lower-case letters, digits and single dashes",
    make: (container, path) => ({ _tag: "Azure", container, path })
  },
  b2: {
    name: "bucket",
    pattern: /^[A-Za-z0-9-]{6,50}$/,
    rule: "6 to 50 letters, digits and dashes",
    make: (bucket, path) => ({ _tag: "B2", bucket, path })
  },
  pvc: {
    name: "claim",
    pattern: /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
    rule: "the name of a PersistentVolumeClaim in the Backup's namespace",
    make: (claim, path) => ({ _tag: "Pvc", claim, path })
  }
}

/**
 * Parses `spec.destination`.
 *
 * @returns Failure: a message with the accepted forms. It never contains a possible password
 */
export const parse = (text: string): Parsed => {
  const refuse = (rule: string): Parsed =>
    Result.fail(`invalid destination: ${JSON.stringify(withoutSecrets(text))} (${rule})`)
  if (text.includes("@")) return refuse("must not contain a user or password, which belong in the Secret")
  const [, name = "", rest = ""] = /^([a-z0-9+]+):\/\/(.*)$/.exec(text) ?? []
  const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined
  if (scheme === undefined) {
    // The form of the tutorial: the name of a bucket.
    return bucketNames.test(text)
      ? Result.succeed({ _tag: "S3", bucket: text, path: "" })
      : refuse(`must be ${accepted}`)
  }
  if (/[?#\s]/.test(rest)) return refuse("must not contain spaces, ? or #")
  const [, place = "", path = ""] = /^([^/]*)\/?(.*)$/.exec(rest) ?? []
  if (!scheme.pattern.test(place) || !hasPort(place)) return refuse(`the ${scheme.name} must be ${scheme.rule}`)
  return Result.match(parsePath(path), {
    onFailure: refuse,
    onSuccess: (clean) => Result.succeed(scheme.make(place, clean))
  })
}

const hasPort = (host: string): boolean => {
  const port = /:([0-9]+)$/.exec(host)?.[1]
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65_535)
}

/** The text before an @ or after a ? may be a password, and many people can read messages. */
const withoutSecrets = (text: string): string => {
  const rest = text.replace(/^([A-Za-z0-9+.-]*:(?:\/\/)?)?[^/]*@/, "$1***@")
  const from = rest.indexOf("//")
  const to = rest.lastIndexOf("@")
  const named = from >= 0 && to > from ? `${rest.slice(0, from)}//***${rest.slice(to)}` : rest
  return named.replace(/([?#]).+$/s, "$1***")
}

/** The other fields of the spec about the repository. */
export interface Place {
  readonly namespace: string
  /** `spec.repository.path`, or `<namespace>/<name>`: appended to the destination's own path. */
  readonly path: string
  /** S3 only: the server, such as `minio.example.com:9000`, optionally with `https://` or `http://`. Undefined: Amazon's. */
  readonly endpoint?: string | undefined
  /** Pvc only: the mount path of the claim in the mover's pod. */
  readonly mountPath: string
}

const amazon = "s3.amazonaws.com"

const join = (...parts: ReadonlyArray<string>): string => parts.filter((part) => part !== "").join("/")

/** The repository for RESTIC_REPOSITORY. It contains no secret. */
export const repository = (destination: Destination, place: Place): string => {
  const path = join(destination.path, place.path)
  switch (destination._tag) {
    case "S3":
      return `s3:${(place.endpoint ?? amazon).replace(/(?<!\/)\/+$/, "")}/${join(destination.bucket, path)}`
    case "Rest":
      return `rest:${destination.url}/${path === "" ? "" : `${path}/`}`
    case "Gs":
      return `gs:${destination.bucket}:/${path}`
    case "Azure":
      return `azure:${destination.container}:/${path}`
    case "B2":
      return `b2:${destination.bucket}:${path}`
    case "Pvc":
      return join(place.mountPath.replace(/(?<!\/)\/+$/, ""), path)
  }
}

/**
 * The identity of a repository cluster-wide, for its hash and its turns. restic's text is not unique, because a claim has the
 * same mount path in each namespace.
 */
export const identity = (destination: Destination, place: Place): string =>
  destination._tag === "Pvc"
    ? `pvc:${join(place.namespace, destination.claim, destination.path, place.path)}`
    : repository(destination, place).replace(
        /^(s3:)(?:https:\/\/)?([^/]+)|^(rest:https:\/\/)([^/]+)/,
        (_, s3 = "", s3Server = "", rest = "", restServer = "") => `${s3}${rest}${serverOf(s3Server + restServer)}`
      )

/** One spelling of a server. restic uses TLS, so its default port is 443. */
const serverOf = (server: string): string => server.toLowerCase().replace(/:443$/, "")

/** The environment variables of a destination: the keys of its Secret that restic gets. */
export interface Variables {
  /** One complete set of each entry is required. */
  readonly required: ReadonlyArray<ReadonlyArray<ReadonlyArray<string>>>
  /** Required unless the pod has its own identity in the cloud (its ServiceAccount's). */
  readonly identity: ReadonlyArray<ReadonlyArray<ReadonlyArray<string>>>
  readonly optional: ReadonlyArray<string>
  /** The variables whose Secret value is the content of a file: the file is mounted, and the variable has its path. */
  readonly files: ReadonlyArray<string>
}

const password = [["RESTIC_PASSWORD"]]

/** The environment variables that restic 0.19 reads for a destination. */
export const variables = (destination: Destination): Variables => {
  switch (destination._tag) {
    case "S3":
      return {
        required: [password],
        identity: [[["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]]],
        optional: [
          "AWS_SESSION_TOKEN",
          "AWS_DEFAULT_REGION",
          "RESTIC_AWS_ASSUME_ROLE_ARN",
          "RESTIC_AWS_ASSUME_ROLE_EXTERNAL_ID",
          "RESTIC_AWS_ASSUME_ROLE_POLICY",
          "RESTIC_AWS_ASSUME_ROLE_REGION",
          "RESTIC_AWS_ASSUME_ROLE_SESSION_NAME",
          "RESTIC_AWS_ASSUME_ROLE_STS_ENDPOINT"
        ],
        files: []
      }
    case "Rest":
      return {
        required: [password],
        identity: [],
        optional: ["RESTIC_REST_USERNAME", "RESTIC_REST_PASSWORD"],
        files: []
      }
    case "Gs":
      return {
        required: [password],
        identity: [[["GOOGLE_APPLICATION_CREDENTIALS"], ["GOOGLE_ACCESS_TOKEN"]]],
        // Only needed to create a bucket.
        optional: ["GOOGLE_PROJECT_ID"],
        files: ["GOOGLE_APPLICATION_CREDENTIALS"]
      }
    case "Azure":
      return {
        required: [password, [["AZURE_ACCOUNT_NAME"]]],
        identity: [[["AZURE_ACCOUNT_KEY"], ["AZURE_ACCOUNT_SAS"]]],
        optional: ["AZURE_ENDPOINT_SUFFIX"],
        files: []
      }
    case "B2":
      return { required: [password, [["B2_ACCOUNT_ID", "B2_ACCOUNT_KEY"]]], identity: [], optional: [], files: [] }
    case "Pvc":
      return { required: [password], identity: [], optional: [], files: [] }
  }
}

/** All names that restic may get, without duplicates. */
export const allowed = (destination: Destination): ReadonlyArray<string> => {
  const { required, identity, optional } = variables(destination)
  return [...new Set([...required.flat(2), ...identity.flat(2), ...optional])]
}

/**
 * The missing keys of a Secret, for CredentialsMissing: names, or alternatives with "or". Empty if none is missing.
 *
 * @param keys the keys of the Secret
 * @param options.ownIdentity the pod has its own ServiceAccount, which may have an identity in the cloud: then its keys are not
 * required, but a set must be complete
 */
export const missing = (
  destination: Destination,
  keys: ReadonlyArray<string>,
  options: { readonly ownIdentity?: boolean } = {}
): ReadonlyArray<string> => {
  const has = new Set(keys)
  const { required, identity } = variables(destination)
  const begun = (choice: ReadonlyArray<ReadonlyArray<string>>) => choice.flat().some((name) => has.has(name))
  const wanted = [...required, ...identity.filter((choice) => options.ownIdentity !== true || begun(choice))]
  return wanted.flatMap((choice) => {
    const lacking = choice.map((set) => set.filter((name) => !has.has(name)))
    if (lacking.some((set) => set.length === 0)) return []
    return choice.length === 1 ? lacking.flat() : [lacking.map((set) => set.join(" and ")).join(" or ")]
  })
}
