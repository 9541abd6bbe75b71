/**
 * The names of attributes of spans and logs, each defined only here. Names of OpenTelemetry's conventions are used where they exist.
 */

/** The method: `GET`, `PATCH` and so on. */
export const httpMethod = "http.request.method"

/** The path with its variable parts in braces: `/apis/apps/v1/namespaces/{ns}/deployments/{name}`. */
export const urlTemplate = "url.template"

/** The status code of the response; absent without one. */
export const httpStatus = "http.response.status_code"

/** The number of retries; absent without one. */
export const httpResendCount = "http.request.resend_count"

/** The path of a webhook. */
export const httpRoute = "http.route"

/** The same path, because it has no variable parts. */
export const urlPath = "url.path"

/** The scheme of a webhook's URL: `https`. */
export const urlScheme = "url.scheme"

/** The host of the API server. */
export const serverAddress = "server.address"

/** The error: the tag of an `ApiError`, or the class of another error. */
export const errorType = "error.type"

/** The namespace of the object of a request. */
export const namespace = "k8s.namespace.name"

/** The name of the object of a request. */
export const objectName = "k8s.object.name"

/** The ID of the request in the API server's audit log. */
export const auditId = "k8s.audit_id"

/** The field manager of a write. */
export const fieldManager = "k8s.field_manager"

/** The last known resourceVersion of the written object. */
export const resourceVersionBefore = "k8s.object.resource_version.before"

/** The resourceVersion of the written object in the response. */
export const resourceVersionAfter = "k8s.object.resource_version.after"

/** Whether a write changed the stored object. */
export const changed = "k8s.write.changed"

/** The controller of the reconcile. */
export const controllerName = "controller.name"

/** The kind of the reconciled or written object. */
export const objectKind = "k8s.object.kind"

/** Its group and version, as in a manifest. */
export const objectApiVersion = "k8s.object.api_version"

/** Its UID. */
export const objectUid = "k8s.object.uid"

/** The version of the object at the start of the reconcile. */
export const objectResourceVersion = "k8s.object.resource_version"

/** `metadata.generation` of the object at the start of the reconcile. */
export const generation = "reconcile.generation"

/** The observed generation in its status; absent without one. */
export const observedGeneration = "reconcile.observed_generation"

/** Whether the object was being deleted. */
export const deleting = "reconcile.deleting"

/** The triggers of the reconcile: each kind once, the oldest first. */
export const triggerKinds = "reconcile.trigger.kinds"

/** The number of triggers, including those without a link. */
export const triggerCount = "reconcile.trigger.count"

/** The number of triggers without a link, because only some are kept. */
export const droppedLinks = "reconcile.trigger.dropped_links"

/** The time from ready to running, in ms. */
export const queueWaitMillis = "reconcile.queue.wait_ms"

/** The age of the oldest change among the triggers, in ms; absent without a change. */
export const eventAgeMillis = "reconcile.event.age_ms"

/** Its priority in the queue. */
export const priority = "reconcile.priority"

/** 1 for the first attempt after a success; each failure or requeue in a row adds 1. */
export const attempt = "reconcile.attempt"

/** The reconcile's ID, as in its log lines. */
export const reconcileId = "reconcile.id"

/** The result: see `AttemptTrace.resultOf` of `@homeostat/observability`. */
export const result = "reconcile.result"

/** The time until the next run in ms; absent if it waits for the next trigger. */
export const requeueAfterMillis = "reconcile.requeue_after_ms"

/** The number of writes that changed an object, or may have. */
export const writes = "reconcile.writes"

/** The number of writes without changes. */
export const noopWrites = "reconcile.noop_writes"

/** The number of dropped spans; absent if none was dropped. */
export const droppedSpans = "reconcile.dropped_spans"

/** The number of dropped events of a span; absent if none was dropped. */
export const droppedEvents = "span.dropped_events"

/** The kind of a trigger, such as `watch.modified`: on a link, and on an event of the queue wait. */
export const triggerKind = "trigger.kind"

/** The time of a trigger: RFC 3339 with milliseconds. */
export const triggerTime = "trigger.time"

/** The kind of the object that changed. */
export const sourceKind = "trigger.source.kind"

/** Its namespace; absent for a cluster-scoped object. */
export const sourceNamespace = "trigger.source.namespace"

/** Its name. */
export const sourceName = "trigger.source.name"

/** Its version in the trigger. */
export const sourceResourceVersion = "trigger.source.resource_version"

/**
 * The relation of a link: `retry_of` or `requeue_of` (the previous attempt), or `cause` (the reconcile that wrote the changed
 * object).
 */
export const linkRelation = "link.relation"

/** The result for a child: `matched` (no change), `created`, `updated`, `removed`, or `left alone` (another owner's). */
export const dependentResult = "dependent.result"

/** The reason of a write: `created`, `intent` (the desired state changed), `drift` (another manager changed the object). */
export const dependentReason = "dependent.reason"

/** The paths of the fields that differed. Never the values. */
export const dependentFields = "dependent.fields"

/** The paths of the changed status fields. Never the values. */
export const statusFields = "status.fields"

/** The entry of `metadata.finalizers`. */
export const finalizerName = "finalizer.name"

/** The type of a Kubernetes Event. */
export const eventType = "event.type"

/** Its reason. */
export const eventReason = "event.reason"

/** The UID of an AdmissionReview. */
export const admissionUid = "admission.uid"

/** Its operation: `CREATE`, `UPDATE`, `DELETE` or `CONNECT`. */
export const admissionOperation = "admission.operation"

/** Whether the API server will not store the result. */
export const admissionDryRun = "admission.dry_run"

/** Whether the webhook allowed the request; absent if it failed. */
export const admissionAllowed = "admission.allowed"

/** The message of a denial; absent without one. */
export const admissionMessage = "admission.message"

/** The warnings; absent without one. */
export const admissionWarnings = "admission.warnings"

/** The paths of the fields that a default changed; absent if it changed none. Never the values. */
export const admissionFields = "admission.fields"

/** The UID of a ConversionReview. */
export const conversionUid = "conversion.uid"

/** The version to convert to, such as `example.com/v2`. */
export const conversionDesiredVersion = "conversion.desired_version"

/** The number of objects to convert. */
export const conversionObjects = "conversion.objects"

/** The message of a failed conversion; absent without one. */
export const conversionMessage = "conversion.message"

/** The name of the program, on all exported data. */
export const serviceName = "service.name"

/** Its version. */
export const serviceVersion = "service.version"

/** The replica of the program. */
export const serviceInstance = "service.instance.id"

/** The pod of the program. */
export const podName = "k8s.pod.name"

/** The pod's UID. */
export const podUid = "k8s.pod.uid"

/** The node of the pod. */
export const nodeName = "k8s.node.name"

/** On the event `exception`: the class of an error. */
export const exceptionType = "exception.type"

/** The error message. */
export const exceptionMessage = "exception.message"

/** The stack; only of defects. */
export const exceptionStack = "exception.stacktrace"

/** The reason of a suspected hot loop: one of `Metric.hotLoopReasons`. */
export const hotLoopReason = "hot_loop.reason"

/** The object that is written repeatedly: `Deployment default/shop`. */
export const hotLoopObject = "hot_loop.object"

/** The paths of the written fields. Never the values. */
export const hotLoopFields = "hot_loop.fields"

/** The other manager of these fields; absent if there is none or it is unknown. */
export const hotLoopManager = "hot_loop.manager"

/** The log level, on an event for a log line. */
export const logLevel = "homeostat.log.level"
