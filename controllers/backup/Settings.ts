/**
 * What a manager's owner sets for all Backups and Restores: environment variables, read once when the manager starts. A value
 * that is wrong ends the start with a message that names it.
 */
import * as DurationText from "@homeostat/runtime/command/DurationText"
import * as Setting from "@homeostat/runtime/command/Setting"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"

/** What can be set. */
export interface Values {
  /** The image of movers, of those that name none themselves. */
  readonly moverImage: string
  /** How many movers run at a time, all together: each may take a GiB of memory and a network. */
  readonly maxJobs: number
  /** How long a mover may take until its container runs: an image to be pulled, a volume to be attached. */
  readonly startTimeout: Duration.Duration
  /** How often is looked again for what is missing: a Secret, a source, a turn. */
  readonly retryPeriod: Duration.Duration
  /**
   * How long a repository may take to answer at all. restic itself goes on trying for 15 minutes. Three tries of it, with the
   * pauses between, are over within three minutes.
   */
  readonly preflightTimeout: Duration.Duration
}

/** What holds where nothing is set. */
export const defaults: Values = {
  moverImage: "homeostat-mover:0.1.0",
  maxJobs: 10,
  startTimeout: Duration.minutes(10),
  retryPeriod: Duration.seconds(30),
  preflightTimeout: Duration.seconds(40)
}

/** The settings that an effect runs with. */
export class Settings extends Context.Reference<Settings>()("@homeostat/backup/Settings", {
  defaultValue: () => defaults
}) {}

/** A length of time of at least a second: less would keep the API server busy with nothing. */
const duration = (variable: string, description: string, otherwise: string) =>
  Setting.make(variable, { description, otherwise, parse: DurationText.parse({ atLeast: "1s" }) })

/** The variables. What they say of defaults is {@link defaults}. */
export const variables = {
  moverImage: Setting.make("HOMEOSTAT_BACKUP_MOVER_IMAGE", {
    description: "The image of movers, where spec.image names none",
    otherwise: defaults.moverImage,
    parse: (text) =>
      /\s/.test(text) ? Either.left(`invalid image: "${text}" (must not contain spaces)`) : Either.right(text)
  }),
  maxJobs: Setting.make("HOMEOSTAT_BACKUP_MAX_JOBS", {
    description: "How many movers run at a time, those of Backups and Restores together",
    otherwise: `${defaults.maxJobs}`,
    parse: (text) =>
      /^[1-9][0-9]{0,5}$/.test(text)
        ? Either.right(Number(text))
        : Either.left(`invalid number of movers: "${text}" (must be a whole number, at least 1)`)
  }),
  startTimeout: duration(
    "HOMEOSTAT_BACKUP_START_TIMEOUT",
    "How long the container of a mover may take to start before the run counts as failed",
    "10m"
  ),
  retryPeriod: duration(
    "HOMEOSTAT_BACKUP_RETRY_PERIOD",
    "How often is looked again for what is missing: a Secret, a source, a turn",
    "30s"
  ),
  preflightTimeout: duration(
    "HOMEOSTAT_BACKUP_PREFLIGHT_TIMEOUT",
    "How long a repository may take to answer a mover at all, each time it is tried",
    "40s"
  )
}

/** The settings of the environment. */
export const layer: Layer.Layer<never, Setting.InvalidSetting> = Layer.effect(
  Settings,
  Setting.read(variables)
) as Layer.Layer<never, Setting.InvalidSetting>

/** Values in the place of those of the environment, such as those of a test. */
export const of = (values: Partial<Values>): Values => ({ ...defaults, ...values })
