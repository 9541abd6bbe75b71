/** The port for metrics: for all callers over HTTP, or for authorized users over TLS. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as BindAddress from "../manager/BindAddress.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import { UsageError } from "./Verb.ts"

/** The flags. */
export const flags = {
  metricsSecure: Flags.metricsSecure,
  metricsCertDir: Flag.aliased(
    "metrics-cert-path",
    Flag.text("metrics-cert-dir", {
      placeholder: "DIR",
      description:
        "Folder of tls.crt and tls.key for --metrics-secure, reloaded on change (default a self-signed certificate)"
    })
  )
} as const

/** The flags that decide about it. */
export interface Settings extends Flag.Values<typeof flags> {
  readonly metricsAddress: BindAddress.BindAddress | undefined
  readonly probesAddress: BindAddress.BindAddress | undefined
}

const refusal = (message: string) => Result.fail(new UsageError({ message }))

/** Rejects combinations of flags that exclude each other. */
export const check = (settings: Settings): Result.Result<void, UsageError> => {
  const { metricsAddress, metricsCertDir, metricsSecure, probesAddress } = settings
  if (metricsCertDir !== undefined && !metricsSecure)
    return refusal("--metrics-secure: required with --metrics-cert-dir")
  const isShared =
    metricsAddress !== undefined &&
    probesAddress !== undefined &&
    metricsAddress.port !== 0 &&
    BindAddress.format(metricsAddress) === BindAddress.format(probesAddress)
  return metricsSecure && isShared
    ? refusal(
        `--metrics-secure: kubelet probes without TLS, so --metrics-bind-address and --health-probe-bind-address can't both be ${BindAddress.format(metricsAddress)}`
      )
    : Result.void
}

/** The certificates of the port; none without TLS. */
export const certificatesOf = ({ metricsAddress, metricsCertDir, metricsSecure }: Settings) =>
  !metricsSecure || metricsAddress === undefined
    ? Effect.sync(() => undefined)
    : // Most managers serve metrics without TLS.
      Effect.flatMap(
        Effect.promise(() => import("../manager/Certificate.ts")),
        ({ ofDir, ofOurOwn, Unusable }) =>
          metricsCertDir === undefined
            ? ofOurOwn
            : Effect.mapError(
                ofDir(metricsCertDir),
                ({ message }) => new Unusable({ message: `--metrics-cert-dir: ${message}` })
              )
      )
