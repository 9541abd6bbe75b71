/** Serves the webhooks of `run --webhooks`. No other command loads this module, nor the server and the certificates that it needs. */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { FileSystem } from "effect/FileSystem"
import type * as Scope from "effect/Scope"
import type * as Client from "../client/Client.ts"
import type { Services } from "../controller/Controller.ts"
import * as BindAddress from "../manager/BindAddress.ts"
import type * as Certificate from "../manager/Certificate.ts"
import * as Health from "../manager/Health.ts"
import * as SelfSigned from "../manager/SelfSigned.ts"
import type * as Crds from "../resource/Crd.ts"
import * as AdmissionReview from "../webhook/AdmissionReview.ts"
import type * as CertificateSource from "../webhook/CertificateSource.ts"
import * as Configuration from "../webhook/Configuration.ts"
import * as ConversionReview from "../webhook/ConversionReview.ts"
import type * as Listener from "../webhook/Listener.ts"
import * as Registration from "../webhook/Registration.ts"
import * as SharedCertificate from "../webhook/SharedCertificate.ts"
import * as WebhookServer from "../webhook/WebhookServer.ts"
import * as Kinds from "./Kinds.ts"
import * as WebhookClients from "./WebhookClients.ts"
import * as WebhookFiles from "./WebhookFiles.ts"
import * as WebhookReadiness from "./WebhookReadiness.ts"
import { type Program, type Settings, secretOf, serviceOf, targetOf } from "./Webhooks.ts"

/** The running webhooks. */
export interface Running {
  /** The address of the conversion for a CRD, with the CAs; waits for the first certificate. */
  readonly conversion: Effect.Effect<Crds.ClientConfig | undefined>
  /** Keeps the webhooks and policies of the cluster those of this program. For the leader alone. */
  readonly reconcile: Effect.Effect<never>
}

/**
 * Serves the webhooks until the scope closes, and creates their configurations. Returns when the port is open. The process is not
 * ready until the API server trusts its certificate.
 *
 * @param namespace that of the Service and the Secret
 */
export const start = <R>(
  program: Program<R>,
  settings: Settings,
  namespace: string
): Effect.Effect<
  Running,
  Listener.BindFailed | Certificate.Unusable | WebhookFiles.NoCa | WebhookClients.NoClientCa,
  R | Services | Client.Client | FileSystem | Scope.Scope
> =>
  Effect.gen(function* () {
    const declared = program.webhooks ?? []
    const converted = Kinds.converted(program)
    const options = targetOf(program, settings, namespace)
    for (const line of Configuration.summary(declared)) yield* Effect.logInfo(line)
    const register = Registration.make({ ...options, declared, converted })
    const routes = new Map<string, WebhookServer.Route<R | Services>>()
    for (const [path, endpoint] of AdmissionReview.endpoints(declared))
      routes.set(path, { type: "admission", endpoint })
    if (converted.length > 0)
      routes.set("/convert", { type: "conversion", endpoint: ConversionReview.endpoint(converted) })
    // The API server evaluates policies without this program.
    if (routes.size === 0) {
      // The readiness probe of the Deployment asks for this check.
      yield* Effect.flatMap(Health.Health, (health) => health.readiness("webhooks", () => undefined))
      const { reconcile } = yield* register
      return { conversion: Effect.sync(() => undefined), reconcile }
    }
    const trusted = yield* Deferred.make<CertificateSource.Source>()
    const trust = (source: CertificateSource.Source) => Deferred.succeed(trusted, source)
    const host = settings.webhookUrl === undefined ? undefined : new URL(settings.webhookUrl).hostname
    const service = `${serviceOf(program.name)}.${namespace}.svc`
    const name = host === undefined ? service : host.replace(/^\[|\]$/g, "")
    const names = host === undefined ? [name, `${service}.cluster.local`] : [name]
    const secret = { namespace, name: secretOf(program.name) }
    const { webhookCertDir } = settings
    let cas = () => ""
    const readiness = yield* WebhookReadiness.make({
      place: webhookCertDir === undefined ? `Secret ${namespace}/${secret.name}` : WebhookFiles.placeOf(webhookCertDir),
      name,
      cas: () => cas()
    })
    // Nothing trusts this pair. With it the port is open before the first request to the API server.
    const placeholder = SelfSigned.make(names, yield* Clock.currentTimeMillis)
    const clients = yield* WebhookClients.make(settings)
    const { port } = yield* WebhookServer.make({
      hostname: settings.webhookAddress.hostname,
      port: settings.webhookAddress.port,
      routes,
      clients,
      certificates: {
        first: placeholder,
        after: (pair) =>
          Effect.flatMap(Deferred.await(trusted), (source) =>
            pair === placeholder ? Effect.succeed(source.first) : source.after(pair)
          ).pipe(Effect.tap(readiness.serve))
      }
    })
    yield* Effect.logInfo(`Serving webhooks on ${BindAddress.format({ ...settings.webhookAddress, port })}`)
    const files =
      webhookCertDir === undefined
        ? undefined
        : yield* WebhookFiles.make({ dir: webhookCertDir, name, report: readiness.report })
    // Last, because a start that fails must not change the configurations of the other replicas.
    const registration = yield* register
    cas = registration.current
    if (files === undefined) {
      yield* SharedCertificate.make({
        secret,
        names,
        publish: registration.publish,
        published: registration.published,
        report: (error) => readiness.report("share", error)
      }).pipe(Effect.flatMap(trust), Effect.andThen(Effect.never), Effect.scoped, Effect.forkScoped)
    } else {
      const { after, first } = yield* files.follow(registration)
      yield* Effect.forkScoped(Effect.flatMap(first, (pair) => trust({ first: pair, after })))
    }
    return {
      conversion: Effect.map(Deferred.await(trusted), () => ({
        ...Configuration.clientConfig(options.target, "/convert"),
        caBundle: Buffer.from(registration.current()).toString("base64")
      })),
      reconcile: registration.reconcile
    }
  })
