/**
 * The settings for all Backups and Restores: environment variables, read once at the start. An invalid value stops the start with a
 * message that names it.
 */
import * as DurationText from "@homeostat/runtime/command/DurationText"
import * as Setting from "@homeostat/runtime/command/Setting"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Destination from "./repository/Destination.ts"

/** The values of all settings. */
export interface Values {
  /** The default image of movers. */
  readonly moverImage: string
  /** The largest number of concurrent movers of Backups, and that of Restores: each may need a GiB of memory and much network. */
  readonly maxJobs: number
  /** How long a mover may take until its container runs, for image pulls and volume attachments. */
  readonly startTimeout: Duration.Duration
  /** The interval of checks for missing prerequisites: a Secret, a source, a turn. */
  readonly retryPeriod: Duration.Duration
  /**
   * The timeout of a repository's first response. restic itself retries for 15 minutes. Three attempts with the delays between them
   * take less than three minutes.
   */
  readonly preflightTimeout: Duration.Duration
  /** The beginnings of images that `spec.image` may name; undefined: all images. */
  readonly images: ReadonlyArray<string> | undefined
  /** Whether `podSecurityContext` may name root. A privileged mover needs the consent of its namespace instead. */
  readonly allowRoot: boolean
  /** A larger `activeDeadlineSeconds` is reduced to this. */
  readonly maxDeadline: Duration.Duration
  /** The destination of Backups without `spec.destination`; undefined: they need one. */
  readonly destination: Destination.Destination | undefined
  /** The S3 server of `destination`; undefined: Amazon's. */
  readonly endpoint: string | undefined
  /** The size limit of restic's cache in a mover. */
  readonly cacheSize: string
  /** The size limit of a mover's temporary files. */
  readonly temporarySize: string
  /** The resources of movers without `spec.resources`. */
  readonly resources: Resources
}

/** Quantities by resource. */
export interface Resources {
  readonly requests: { readonly [resource: string]: string }
  readonly limits: { readonly [resource: string]: string }
}

/** The defaults. */
export const defaults: Values = {
  moverImage: "homeostat-mover:0.2.0-dev",
  maxJobs: 10,
  startTimeout: Duration.minutes(10),
  retryPeriod: Duration.seconds(30),
  preflightTimeout: Duration.seconds(40),
  images: undefined,
  allowRoot: true,
  maxDeadline: Duration.hours(8760),
  destination: undefined,
  endpoint: undefined,
  cacheSize: "10Gi",
  temporarySize: "1Gi",
  resources: { requests: {}, limits: {} }
}

/** The settings of an effect. */
export const Settings = Context.Reference("@homeostat/backup/Settings", {
  defaultValue: () => defaults
})

/** A duration of at least a second, because a shorter one would keep the API server busy. */
const duration = (variable: string, description: string, otherwise: string) =>
  Setting.make(variable, { description, otherwise, parse: DurationText.parse({ atLeast: "1s" }) })

const quantity = (variable: string, description: string, otherwise: string) =>
  Setting.make(variable, {
    description,
    otherwise,
    parse: (text) =>
      /^[1-9][0-9]*(Ki|Mi|Gi|Ti|k|M|G|T)?$/.test(text)
        ? Result.succeed(text)
        : Result.fail(`invalid size: "${text}" (write it like 10Gi)`)
  })

const units: { readonly [suffix: string]: number } = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60
}

/** The number of a valid quantity, to compare two of them. */
const amount = (quantity: string): number => {
  const [, digits = "", suffix = ""] = /^([-+0-9.]+(?:[eE][-+]?[0-9]+)?)(.*)$/.exec(quantity) ?? []
  return Number(digits) * (units[suffix] ?? Number.NaN)
}

const resources = (text: string): Result.Result<Resources, string> => {
  const found = { requests: {} as Record<string, string>, limits: {} as Record<string, string> }
  for (const part of text.split(",")) {
    const [, kind, resource, quantity] = /^(requests|limits)\.(cpu|memory|ephemeral-storage)=(.*)$/.exec(part) ?? []
    if ((kind !== "requests" && kind !== "limits") || resource === undefined || quantity === undefined) {
      return Result.fail(
        `invalid resource: "${part}" (must be requests or limits of cpu, memory or ephemeral-storage, such as limits.memory=2Gi)`
      )
    }
    if (Result.isFailure(Schema.decodeResult(Field.Quantity)(quantity)) || amount(quantity) < 0) {
      return Result.fail(`invalid quantity of ${kind}.${resource}: "${quantity}" (write it like 500m or 2Gi)`)
    }
    found[kind][resource] = quantity
  }
  for (const [resource, request] of Object.entries(found.requests)) {
    const limit = found.limits[resource]
    if (limit !== undefined && amount(request) > amount(limit)) {
      return Result.fail(
        `invalid quantity of requests.${resource}: "${request}" (must be at most limits.${resource}, ${limit})`
      )
    }
  }
  return Result.succeed(found)
}

/** The variables. Their defaults are {@link defaults}. */
export const variables = {
  moverImage: Setting.make("HOMEOSTAT_BACKUP_MOVER_IMAGE", {
    description: "The image of movers without spec.image",
    otherwise: defaults.moverImage,
    parse: (text) =>
      /\s/.test(text) ? Result.fail(`invalid image: "${text}" (must not contain spaces)`) : Result.succeed(text)
  }),
  maxJobs: Setting.make("HOMEOSTAT_BACKUP_MAX_JOBS", {
    description: "The largest number of concurrent movers of Backups, and of Restores",
    otherwise: `${defaults.maxJobs}`,
    parse: (text) =>
      /^[1-9][0-9]{0,5}$/.test(text)
        ? Result.succeed(Number(text))
        : Result.fail(`invalid number of movers: "${text}" (must be a whole number, at least 1)`)
  }),
  startTimeout: duration(
    "HOMEOSTAT_BACKUP_START_TIMEOUT",
    "How long the container of a mover may take to start before the run fails",
    "10m"
  ),
  retryPeriod: duration("HOMEOSTAT_BACKUP_RETRY_PERIOD", "How often to look for a missing prerequisite", "30s"),
  preflightTimeout: duration(
    "HOMEOSTAT_BACKUP_PREFLIGHT_TIMEOUT",
    "How long a mover waits for the first answer of a repository, for each attempt",
    "40s"
  ),
  images: Setting.make("HOMEOSTAT_BACKUP_IMAGES", {
    description: "Prefixes of the images that spec.image may name, separated by commas; * for all",
    otherwise: "*",
    parse: (text) => Result.succeed(text === "*" ? undefined : text.split(",").filter((image) => image !== ""))
  }),
  allowRoot: Setting.make("HOMEOSTAT_BACKUP_ALLOW_ROOT", {
    description: "Whether spec.podSecurityContext may name root: true or false",
    otherwise: "true",
    parse: (text) =>
      text === "true" || text === "false"
        ? Result.succeed(text === "true")
        : Result.fail(`invalid value: "${text}" (must be true or false)`)
  }),
  maxDeadline: duration(
    "HOMEOSTAT_BACKUP_MAX_DEADLINE",
    "The longest duration of a mover; limits spec.activeDeadlineSeconds",
    "8760h"
  ),
  destination: Setting.make("HOMEOSTAT_BACKUP_DESTINATION", {
    description: "The destination of Backups without spec.destination, such as s3://bucket",
    otherwise: "none",
    parse: (text) => (text === "none" ? Result.succeed(defaults.destination) : Destination.parse(text))
  }),
  endpoint: Setting.make("HOMEOSTAT_BACKUP_ENDPOINT", {
    description: "The S3 server of HOMEOSTAT_BACKUP_DESTINATION, such as minio.example.com:9000",
    otherwise: "none",
    parse: (text) =>
      text === "none"
        ? Result.succeed(defaults.endpoint)
        : /^(https:\/\/)?[^\s/@]+$/.test(text)
          ? Result.succeed(text)
          : Result.fail(`invalid server: "${text}" (write it like minio.example.com:9000)`)
  }),
  cacheSize: quantity(
    "HOMEOSTAT_BACKUP_CACHE_SIZE",
    "The size limit of restic's cache in a mover; a check of the repository needs a second one in it",
    defaults.cacheSize
  ),
  temporarySize: quantity(
    "HOMEOSTAT_BACKUP_TEMPORARY_SIZE",
    "The size limit of a mover's temporary files",
    defaults.temporarySize
  ),
  resources: Setting.make("HOMEOSTAT_BACKUP_MOVER_RESOURCES", {
    description: "The resources of movers without spec.resources, such as requests.memory=256Mi,limits.memory=2Gi",
    otherwise: "none",
    parse: (text) => (text === "none" ? Result.succeed(defaults.resources) : resources(text))
  })
}

/** The settings from the environment. */
export const layer: Layer.Layer<never, Setting.InvalidSetting> = Layer.effect(
  Settings,
  Setting.read(variables)
) as Layer.Layer<never, Setting.InvalidSetting>

/** The given values, for example of a test, and defaults for the rest. */
export const of = (values: Partial<Values>): Values => ({ ...defaults, ...values })
