/** The operations of a client, over any stack. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Decoding from "../resource/Decoding.ts"
import type { KubernetesObject, ObjectKey } from "../resource/KubernetesObject.ts"
import { type Any, apiVersionOf, type InvalidObject, nameOf, type Resource } from "../resource/Resource.ts"
import * as ApiError from "./ApiError.ts"
import * as Call from "./Call.ts"
import * as Exchange from "./Exchange.ts"
import { FieldManager } from "./FieldManager.ts"
import type {
  ApplyOptions,
  DeleteOptions,
  ListOptions,
  PageOptions,
  RawRequest,
  RequestOptions,
  Selection,
  WatchOptions,
  WriteOptions
} from "./Options.ts"
import * as PageSize from "./PageSize.ts"
import type { Patch } from "./Patch.ts"
import { infoOf, type Request } from "./Request.ts"
import type { Scale } from "./Scale.ts"
import type { Stack } from "./Stack.ts"
import * as Watch from "./Watch.ts"
import * as WriteBroadcaster from "./WriteBroadcaster.ts"

/** A page of a list. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly resourceVersion: string
  /** The token of the next page, if there is one. */
  readonly continue?: string
  /** The number of objects after this page; absent with selectors. */
  readonly remaining?: number
  /** The characters of the answer. */
  readonly length?: number
}

/** A decoded list. */
export interface List<A> extends Page<A>, Decoding.Decoded<A> {
  readonly items: ReadonlyArray<A>
}

/** A kind, for reads. */
type Readable<A extends KubernetesObject> = Resource<A, never>

/** The object of a write. Its type comes only from the kind, so that an unknown field is a type error. */
type Input<D> = NoInfer<D>

/** The result of a typed request. */
type Typed<A> = Effect.Effect<A, ApiError.ApiError | InvalidObject>

/** The operations of a client. */
export interface Operations {
  /** Reads one object. */
  readonly get: <A extends KubernetesObject>(
    resource: Readable<A>,
    key: ObjectKey,
    options?: RequestOptions
  ) => Typed<A>
  /**
   * Lists objects. Without a `limit` it returns all, in pages of one resourceVersion. If that expires meanwhile, it lists again once.
   * With a `limit` it may return fewer objects and a token of the next page, if the objects are large.
   */
  readonly list: <A extends KubernetesObject>(resource: Readable<A>, options?: ListOptions) => Typed<List<A>>
  /** Creates an object. Fails with `AlreadyExists` if the name exists. */
  readonly create: <A extends KubernetesObject, D extends Call.Placed>(
    resource: Resource<A, D>,
    object: Input<D>,
    options?: WriteOptions
  ) => Typed<A>
  /** Replaces an object. Fails with `Conflict` if its `metadata.resourceVersion` is not the newest. */
  readonly replace: <A extends KubernetesObject, D extends Call.Placed>(
    resource: Resource<A, D>,
    object: Input<D>,
    options?: WriteOptions
  ) => Typed<A>
  /** Changes parts of an object. */
  readonly patch: <A extends KubernetesObject>(
    resource: Readable<A>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions
  ) => Typed<A>
  /** Server-side apply: creates or changes the object, and removes the fields that the field manager no longer applies. */
  readonly apply: <A extends KubernetesObject, D extends Call.Placed>(
    resource: Resource<A, D>,
    object: Input<D>,
    options?: ApplyOptions
  ) => Typed<A>
  /** Deletes an object. Returns the object if it still exists (finalizers, a pod that stops), or none if it is gone. */
  readonly delete: <A extends KubernetesObject>(
    resource: Readable<A>,
    key: ObjectKey,
    options?: DeleteOptions
  ) => Typed<Option.Option<A>>
  /** Deletes all selected objects in one namespace, or in the cluster for a cluster-scoped kind. */
  readonly deleteAll: (resource: Any, options: Selection & DeleteOptions) => Effect.Effect<void, ApiError.ApiError>
  /** The status subresource: the server ignores all other fields of writes. */
  readonly status: {
    readonly get: Operations["get"]
    readonly patch: Operations["patch"]
    readonly replace: <A extends KubernetesObject>(resource: Readable<A>, object: A, options?: WriteOptions) => Typed<A>
    readonly apply: <A extends KubernetesObject>(
      resource: Readable<A>,
      object: Call.Placed & { readonly status?: unknown },
      options?: ApplyOptions
    ) => Typed<A>
  }
  /** The scale subresource. */
  readonly scale: {
    readonly get: (resource: Any, key: ObjectKey, options?: RequestOptions) => Effect.Effect<Scale, ApiError.ApiError>
    readonly patch: (
      resource: Any,
      key: ObjectKey,
      patch: Patch,
      options?: WriteOptions
    ) => Effect.Effect<Scale, ApiError.ApiError>
  }
  /** One page of objects as on the wire, without managedFields, for the reflector. */
  readonly page: (resource: Any, options?: PageOptions) => Effect.Effect<Page<KubernetesObject>, ApiError.ApiError>
  /** Opens a watch, until the scope closes. Fails with the server's error. Never retried. */
  readonly watch: (
    resource: Any,
    options?: WatchOptions
  ) => Effect.Effect<Watch.Connection, ApiError.ApiError, Scope.Scope>
  /** A request to any path, sent once; a status of 400 or more is an error. */
  readonly raw: (
    request: RawRequest
  ) => Effect.Effect<{ readonly status: number; readonly body: string }, ApiError.ApiError>
  /** Calls the listener after each successful write, before the writer continues, until the scope closes. */
  readonly onWrite: (listener: WriteBroadcaster.Listener) => Effect.Effect<void, never, Scope.Scope>
}

const partialType = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" }

// Wire types. They are trusted because the server made them, except that the fields in use are checked for existence.
interface WireList {
  readonly metadata?: {
    readonly resourceVersion?: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items?: ReadonlyArray<KubernetesObject> | null
}

/**
 * The form of an answer of the server, and its name in the error. A proxy may answer in place of the server, and without the check such
 * an answer would empty a cache or end an election.
 */
interface Form {
  readonly is: (value: object) => boolean
  readonly what: string
}

const hasMetadata = (value: object): boolean =>
  "metadata" in value && typeof value.metadata === "object" && value.metadata !== null

const object: Form = { is: hasMetadata, what: "an object" }
const list: Form = { is: (value) => "items" in value, what: "a list" }
const deletion: Form = { is: (value) => ApiError.isStatus(value) || hasMetadata(value), what: "an object or a Status" }

/** A body in this form. `T` is its wire type. */
const parse = <T extends object>(
  request: Request,
  response: { readonly status: number; readonly body: string },
  { is, what }: Form = object
): Effect.Effect<T, ApiError.ServerError> => {
  try {
    const value: unknown = JSON.parse(response.body)
    // The only unchecked cast: by contract, the server answers a request for a T with a T.
    if (typeof value === "object" && value !== null && is(value)) return Effect.succeed(value as T)
  } catch {}
  return Effect.fail(ApiError.unreadable(infoOf(request), response.status, what))
}

/** The outcome of a write with only kind and verb. */
const plainly = (kind: string, verb: string) => ({
  kind,
  verb,
  subresource: undefined,
  fieldManager: undefined,
  before: undefined,
  after: undefined
})

/** The operations on a stack. */
export const make = (stack: Stack): Operations => {
  const writes = WriteBroadcaster.make()

  const sendAs = <T extends object>(request: Request, form?: Form): Effect.Effect<T, ApiError.ApiError> =>
    Effect.flatMap(stack.send(request), (response) => parse<T>(request, response, form))

  const typed = <A extends KubernetesObject>(resource: Readable<A>, call: Call.Call): Typed<A> =>
    Result.isFailure(call)
      ? Effect.fail(call.failure)
      : Effect.flatMap(sendAs<KubernetesObject>(call.success), (object) => Effect.fromResult(resource.decode(object)))

  const publish = (
    call: Request,
    write: Pick<WriteBroadcaster.Write, "resource" | "verb" | "subresource" | "uid">,
    object: KubernetesObject | undefined
  ) => {
    if (call.dryRun === true) return
    const name = object?.metadata.name ?? call.name ?? ""
    const namespace = write.resource.namespaced ? call.namespace : undefined
    writes.publish({ ...write, key: namespace === undefined ? { name } : { namespace, name }, object })
  }

  /** Records a write in the current reconcile. A dry run is not recorded. */
  const enter = (
    context: Context.Context<never>,
    request: Request,
    write: Omit<Exchange.WriteOutcome, "changed">
  ): void => {
    if (request.dryRun !== true) Context.get(context, Exchange.Exchanges)?.wrote(request, write)
  }

  /** Sends a write and publishes its response, without an interruption between the two. */
  const write = <T extends KubernetesObject>(
    resource: Any,
    verb: WriteBroadcaster.Write["verb"],
    subresource: string | undefined,
    { before, ...options }: WriteOptions,
    call: (fieldManager: string) => Call.Call
  ): Effect.Effect<T, ApiError.ApiError> =>
    Effect.withFiber((fiber) => {
      const context = fiber.context
      const fieldManager = options.fieldManager ?? Context.get(context, FieldManager)
      const request = call(fieldManager)
      if (Result.isFailure(request)) return Effect.fail(request.failure)
      return Effect.flatMap(stack.send(request.success), (response) =>
        Effect.map(parse<T>(request.success, response), (object) => {
          const { uid, resourceVersion: after } = object.metadata
          const age = Exchange.ageOf(object, { fieldManager, subresource }, response)
          publish(request.success, { resource, verb, subresource }, object)
          enter(context, request.success, {
            kind: resource.kind,
            uid,
            verb,
            subresource,
            fieldManager,
            before,
            after,
            age
          })
          return object
        })
      )
    })

  const decoded = <A extends KubernetesObject>(
    resource: Readable<A>,
    effect: Effect.Effect<KubernetesObject, ApiError.ApiError>
  ): Typed<A> => Effect.flatMap(effect, (object) => Effect.fromResult(resource.decode(object)))

  const patchOf =
    (subresource: string | undefined): Operations["patch"] =>
    (resource, key, change, options = {}) =>
      decoded(
        resource,
        write(resource, "patch", subresource, options, (manager) =>
          Call.patch(resource, key, change, subresource, manager, options)
        )
      )

  const replaceOf =
    (subresource: string | undefined) =>
    <A extends KubernetesObject>(resource: Readable<A>, object: Call.Placed, options: WriteOptions = {}): Typed<A> =>
      decoded(
        resource,
        write(resource, "update", subresource, { before: object.metadata.resourceVersion, ...options }, (manager) =>
          Call.replace(resource, object, subresource, manager, options)
        )
      )

  const applyOf =
    (subresource: string | undefined) =>
    <A extends KubernetesObject>(resource: Readable<A>, object: Call.Placed, options: ApplyOptions = {}): Typed<A> =>
      decoded(
        resource,
        write(resource, "apply", subresource, options, (manager) =>
          Call.apply(resource, object, subresource, manager, options)
        )
      )

  const getOf =
    (subresource: string | undefined): Operations["get"] =>
    (resource, key, options = {}) =>
      typed(resource, Call.get(resource, key, subresource, options))

  const sizes = PageSize.make()
  const wirePage = (resource: Any, options: PageOptions): Effect.Effect<Page<KubernetesObject>, ApiError.ApiError> => {
    const { kind, projection } = resource
    const type = projection === "full" ? { apiVersion: apiVersionOf(resource), kind } : partialType
    const read = (limit: number | undefined): Effect.Effect<Page<KubernetesObject>, ApiError.ApiError> => {
      // A page with one object may have any size, which the server limits.
      const maxBytes = limit === undefined || limit <= 1 ? undefined : PageSize.mostBytes
      const request: Request = { ...Call.page(resource, { ...options, limit }), maxBytes }
      return Effect.flatMap(stack.send(request), (response) => {
        if (limit !== undefined && maxBytes !== undefined && response.body === "") {
          const fewer = PageSize.smaller(limit)
          return Effect.andThen(
            Effect.logDebug(
              `A page of ${limit} ${resource.plural} takes more than ${maxBytes} bytes: asking for ${fewer}`
            ),
            read(fewer)
          )
        }
        return Effect.map(parse<WireList>(request, response, list), ({ items, metadata }) => {
          const page = {
            // Items of built-in kinds have no kind in lists, but in watches. Here all have one.
            items: (items ?? []).map((item) => (item.kind === undefined ? { ...type, ...item } : item)),
            resourceVersion: metadata?.resourceVersion ?? "",
            ...(metadata?.continue !== undefined && metadata.continue !== "" && { continue: metadata.continue }),
            ...(metadata?.remainingItemCount !== undefined && { remaining: metadata.remainingItemCount }),
            length: response.body.length
          }
          sizes.arrived(resource, page)
          return page
        })
      })
    }
    return read(options.limit === undefined ? undefined : sizes.limitFor(resource, options.limit))
  }

  const allPages = (
    resource: Any,
    options: ListOptions,
    before: ReadonlyArray<KubernetesObject>
  ): Effect.Effect<Page<KubernetesObject>, ApiError.ApiError> =>
    Effect.flatMap(wirePage(resource, { ...options, limit: PageSize.most }), (page) => {
      const items = before.length === 0 ? page.items : before.concat(page.items)
      if (page.continue === undefined) return Effect.succeed({ items, resourceVersion: page.resourceVersion })
      // The first page fixes the resourceVersion; the server rejects one together with a continue token.
      const { resourceVersion, resourceVersionMatch, ...rest } = options
      return allPages(resource, { ...rest, continue: page.continue }, items)
    })

  const wireList = (resource: Any, options: ListOptions) =>
    options.limit !== undefined
      ? wirePage(resource, options)
      : Effect.catchTag(allPages(resource, options, []), "Expired", (error) =>
          options.continue === undefined && options.resourceVersionMatch !== "Exact"
            ? allPages(resource, options, [])
            : Effect.fail(error)
        )

  /** Whether the server sends bookmarks for a kind. Unknown until the first bookmark, or the first watch that was silent for too long. */
  const bookmarked = new Map<string, boolean>()
  const operations: Operations = {
    get: getOf(undefined),
    list: (resource, options = {}) =>
      Effect.flatMap(wireList(resource, options), (page) =>
        Effect.map(Decoding.all(resource, page.items), (decoded) => ({ ...page, ...decoded }))
      ),
    create: (resource, object, options = {}) =>
      decoded(
        resource,
        write(resource, "create", undefined, options, (manager) => Call.create(resource, object, manager, options))
      ),
    replace: replaceOf(undefined),
    patch: patchOf(undefined),
    apply: applyOf(undefined),
    delete: <A extends KubernetesObject>(resource: Readable<A>, key: ObjectKey, options: DeleteOptions = {}) => {
      const call = Call.remove(resource, key, options)
      if (Result.isFailure(call)) return Effect.fail(call.failure)
      return Effect.withFiber<Option.Option<A>, ApiError.ApiError | InvalidObject>((fiber) =>
        Effect.flatMap(
          sendAs<KubernetesObject | ApiError.Status>(call.success, deletion),
          (answer): Effect.Effect<Option.Option<A>, InvalidObject> => {
            const object = ApiError.isStatus(answer) ? undefined : answer
            const uid = ApiError.isStatus(answer) ? answer.details?.uid : undefined
            publish(call.success, { resource, verb: "delete", ...(object === undefined && { uid }) }, object)
            enter(fiber.context, call.success, {
              ...plainly(resource.kind, "delete"),
              uid: object?.metadata.uid,
              before: options.resourceVersion,
              after: object?.metadata.resourceVersion
            })
            return object !== undefined && isLeaving(object)
              ? Effect.asSome(Effect.fromResult(resource.decode(object)))
              : Effect.succeedNone
          }
        )
      )
    },
    deleteAll: (resource, options) => {
      const call = Call.removeAll(resource, options, options)
      if (Result.isFailure(call)) return Effect.fail(call.failure)
      return Effect.withFiber((fiber) =>
        Effect.map(stack.send(call.success), () =>
          enter(fiber.context, call.success, plainly(resource.kind, "deletecollection"))
        )
      )
    },
    status: {
      get: getOf("status"),
      patch: patchOf("status"),
      replace: replaceOf("status"),
      apply: applyOf("status")
    },
    scale: {
      get: (resource, key, options = {}) => {
        const call = Call.get(resource, key, "scale", options)
        return Result.isFailure(call) ? Effect.fail(call.failure) : sendAs<Scale>(call.success)
      },
      patch: (resource, key, change, options = {}) =>
        write<Scale>(resource, "patch", "scale", options, (manager) =>
          Call.patch(resource, key, change, "scale", manager, options)
        )
    },
    page: (resource, options = {}) =>
      Effect.map(wirePage(resource, options), (page) => {
        for (const { metadata } of page.items) {
          // Freshly parsed and not shared. Deleting is cheaper than copying ten thousand objects.
          const writable: { managedFields?: unknown } = metadata
          delete writable.managedFields
        }
        return page
      }),
    watch: (resource, options = {}) =>
      Effect.flatMap(watchSeconds(options), (seconds) => {
        const request = Call.watch(resource, options, seconds)
        const kind = nameOf(resource)
        const silence: Watch.Silence = {
          timeoutSeconds: seconds,
          sendsBookmarks: () => bookmarked.get(kind) !== false,
          onBookmark: () => void bookmarked.set(kind, true),
          onIdle: () => void (bookmarked.has(kind) || bookmarked.set(kind, false))
        }
        return Effect.flatMap(stack.open(request), (streaming) => Watch.make(infoOf(request), streaming, silence))
      }),
    raw: (request) => Effect.map(stack.send(Call.raw(request)), ({ body, status }) => ({ status, body })),
    onWrite: writes.listen
  }
  return operations
}

/** Whether a deleted object still exists. For some kinds the response is the last state of an object that is gone. */
const isLeaving = ({ metadata }: KubernetesObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  ((metadata.finalizers?.length ?? 0) > 0 || (metadata.deletionGracePeriodSeconds ?? 0) > 0)

/** Five to ten minutes at random, as in client-go, so that watches that open together do not end together. */
const watchSeconds = (options: WatchOptions): Effect.Effect<number> =>
  options.timeoutSeconds === undefined
    ? Random.nextIntBetween(300, 601, { halfOpen: true })
    : Effect.succeed(options.timeoutSeconds)
