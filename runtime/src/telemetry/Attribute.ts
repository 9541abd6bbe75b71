/**
 * Attributes of spans and logs. A name is written here once and nowhere else, so that what is recorded and what is
 * searched for cannot drift apart. Where OpenTelemetry's conventions have a name, it is used.
 */

/** `GET`, `PATCH`, … */
export const httpMethod = "http.request.method"

/** The path with its variable parts in braces: `/apis/apps/v1/namespaces/{ns}/deployments/{name}`. */
export const urlTemplate = "url.template"

/** The status code of the answer; absent when there was none. */
export const httpStatus = "http.response.status_code"

/** How many times the request was sent again; absent when it was sent once. */
export const httpResendCount = "http.request.resend_count"

/** Host of the API server. */
export const serverAddress = "server.address"

/** What failed: the tag of an `ApiError`, or the class of another error. */
export const errorType = "error.type"

/** The namespace a request is about. */
export const namespace = "k8s.namespace.name"

/** The name of the object a request is about. */
export const objectName = "k8s.object.name"

/** The id the API server's audit log has for a request. */
export const auditId = "k8s.audit_id"

/** In whose name a write was made. */
export const fieldManager = "k8s.field_manager"

/** The resourceVersion of what is written, as it was known before. */
export const resourceVersionBefore = "k8s.object.resource_version.before"

/** The resourceVersion of what is written, as the answer has it. */
export const resourceVersionAfter = "k8s.object.resource_version.after"

/** Whether a write changed what is stored. */
export const changed = "k8s.write.changed"

/** The controller whose reconcile it is. */
export const controllerName = "controller.name"

/** The kind of the object that is reconciled, or written. */
export const objectKind = "k8s.object.kind"

/** Its group and version, as in a manifest. */
export const objectApiVersion = "k8s.object.api_version"

/** Its uid. */
export const objectUid = "k8s.object.uid"

/** The version of the object that a reconcile began with. */
export const objectResourceVersion = "k8s.object.resource_version"

/** `metadata.generation` of the object that a reconcile began with. */
export const generation = "reconcile.generation"

/** The generation that its status spoke of; absent where the status speaks of none. */
export const observedGeneration = "reconcile.observed_generation"

/** Whether it was being deleted. */
export const deleting = "reconcile.deleting"

/** What woke the reconcile: each kind once, the oldest first. */
export const triggerKinds = "reconcile.trigger.kinds"

/** How many triggers there were, those that have no link included. */
export const triggerCount = "reconcile.trigger.count"

/** How many of them have no link, because many more came than are kept. */
export const droppedLinks = "reconcile.trigger.dropped_links"

/** From ready to running, in ms. */
export const queueWaitMillis = "reconcile.queue.wait_ms"

/** How old the oldest change was that a reconcile answers to, in ms; absent where no change woke it. */
export const eventAgeMillis = "reconcile.event.age_ms"

/** The priority it had in the queue. */
export const priority = "reconcile.priority"

/** 1 for the first after a success, counting up with each failure or requeue in a row. */
export const attempt = "reconcile.attempt"

/** The reconcile's id, which is in its log lines as well. */
export const reconcileId = "reconcile.id"

/** What came of it: see `AttemptTrace.resultOf` of `@homeostat/observability`. */
export const result = "reconcile.result"

/** In how many ms it runs again; absent where it waits for the next trigger. */
export const requeueAfterMillis = "reconcile.requeue_after_ms"

/** How many of its writes changed something, or may have. */
export const writes = "reconcile.writes"

/** How many of its writes changed nothing. */
export const noopWrites = "reconcile.noop_writes"

/** How many of its spans were not kept, because there were too many; absent where all were. */
export const droppedSpans = "reconcile.dropped_spans"

/** How many events of a span were not kept, because there were too many; absent where all were. */
export const droppedEvents = "span.dropped_events"

/** What a trigger was, such as `watch.modified`: on a link, and on an event of the queue wait. */
export const triggerKind = "trigger.kind"

/** When it happened: RFC 3339 with milliseconds. */
export const triggerTime = "trigger.time"

/** The kind of the object that changed. */
export const sourceKind = "trigger.source.kind"

/** Its namespace; absent for one that has none. */
export const sourceNamespace = "trigger.source.namespace"

/** Its name. */
export const sourceName = "trigger.source.name"

/** The version of it that the trigger brought. */
export const sourceResourceVersion = "trigger.source.resource_version"

/** What a link leads to: `retry_of` or `requeue_of` (the attempt before), or `cause` (who wrote the object that changed). */
export const linkRelation = "link.relation"

/** The result for a child: `matched` (nothing to do), `created`, `updated`, or `left alone`, because it is not ours. */
export const dependentResult = "dependent.result"

/** Why it was written: `created`, `intent` (another is wanted than before), `drift` (another manager changed it). */
export const dependentReason = "dependent.reason"

/** The paths of what differed from what is wanted of it. Never the values. */
export const dependentFields = "dependent.fields"

/** The paths of what a status changes. Never the values. */
export const statusFields = "status.fields"

/** The entry of `metadata.finalizers`. */
export const finalizerName = "finalizer.name"

/** The type of a Kubernetes Event. */
export const eventType = "event.type"

/** Its reason. */
export const eventReason = "event.reason"

/** The program, on everything that it sends. */
export const serviceName = "service.name"

/** Its version. */
export const serviceVersion = "service.version"

/** Which of its replicas. */
export const serviceInstance = "service.instance.id"

/** The program's own pod. */
export const podName = "k8s.pod.name"

/** The pod's uid. */
export const podUid = "k8s.pod.uid"

/** The node that the pod is on. */
export const nodeName = "k8s.node.name"

/** On the event `exception`: the class of an error. */
export const exceptionType = "exception.type"

/** What it says. */
export const exceptionMessage = "exception.message"

/** Where it came from; of defects only. */
export const exceptionStack = "exception.stacktrace"

/** Why a hot loop is suspected: one of `Metric.hotLoopReasons`. */
export const hotLoopReason = "hot_loop.reason"

/** The object that is written again and again: `Deployment default/shop`. */
export const hotLoopObject = "hot_loop.object"

/** The paths of what is written. Never the values. */
export const hotLoopFields = "hot_loop.fields"

/** The other manager of these fields; absent if there is none or it is unknown. */
export const hotLoopManager = "hot_loop.manager"

/** On an event that is a line of the log: how much it matters. */
export const logLevel = "homeostat.log.level"
