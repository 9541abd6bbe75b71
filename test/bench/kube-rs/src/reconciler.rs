//! The reconciler of `../controller-runtime` in Rust: Deployment, Service, PodDisruptionBudget, status; each is written only where it differs
//! from the cache.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment},
        core::v1::{
            Container, ContainerPort, Lifecycle, LifecycleHandler, PodSecurityContext, PodSpec, PodTemplateSpec, Probe,
            SeccompProfile, SecurityContext, Service, ServicePort, ServiceSpec, SleepAction, TCPSocketAction,
        },
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    },
    apimachinery::pkg::{
        apis::meta::v1::{Condition, LabelSelector, ObjectMeta, Time},
        util::intstr::IntOrString,
    },
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    runtime::{
        controller::Action,
        events::{Event, EventType, Recorder},
        reflector::{ObjectRef, Store},
    },
};
use serde_json::json;

use crate::{
    crd::{WebApp, WebAppStatus},
    telemetry::Telemetry,
};

pub const MANAGER: &str = "webapp-controller";

// What Homeostat sets in every Deployment.
const MESSAGE_POLICY: &str = "FallbackToLogsOnError";
const SECCOMP: &str = "RuntimeDefault";
const GRACE_PERIOD: i64 = 30;
const DRAIN_SECONDS: i64 = 5;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}: {1}")]
    Api(&'static str, #[source] kube::Error),
}

pub struct Context {
    pub client: Client,
    pub deployments: Store<Deployment>,
    pub services: Store<Service>,
    pub budgets: Store<PodDisruptionBudget>,
    pub recorder: Recorder,
    pub telemetry: Arc<Telemetry>,
}

pub async fn reconcile(app: Arc<WebApp>, ctx: Arc<Context>) -> Result<Action, Error> {
    ctx.telemetry.wait_until_ready().await; // the Controller waits for the store of WebApps only
    ctx.telemetry.begun(app.namespace().as_deref(), &app.name_any());
    let result = run(app, &ctx).await;
    ctx.telemetry.done(result.is_ok());
    result.map(|()| Action::await_change())
}

pub fn error_policy(app: Arc<WebApp>, err: &Error, _: Arc<Context>) -> Action {
    tracing::error!(webapp = %ObjectRef::from_obj(&*app), "reconcile: {err}");
    Action::requeue(Duration::from_secs(1))
}

async fn run(app: Arc<WebApp>, ctx: &Context) -> Result<(), Error> {
    // Children go with their owner (garbage collector); there is nothing external to clean up.
    if app.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    let namespace = app.namespace().unwrap_or_default();
    let name = app.name_any();

    let mut created = Vec::new();
    let (seen, is_new) = ensure_deployment(&app, &namespace, ctx).await?;
    if is_new {
        created.push(format!("Deployment {name}"));
    }
    if ensure_service(&app, &namespace, ctx).await? {
        created.push(format!("Service {name}"));
    }
    if ensure_budget(&app, &namespace, ctx).await? {
        created.push(format!("PodDisruptionBudget {name}"));
    }
    if !created.is_empty() {
        record(ctx, &app, format!("Created {}", created.join(", ")));
    }

    let want = desired_status(&app, &seen);
    if app.status.as_ref() == Some(&want) {
        return Ok(());
    }
    let apps: Api<WebApp> = Api::namespaced(ctx.client.clone(), &namespace);
    let merge = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
    match apps.patch_status(&name, &merge, &Patch::Merge(json!({"status": want}))).await {
        Err(err) if !is_code(&err, &[404]) => Err(Error::Api("status", err)),
        _ => Ok(()),
    }
}

/// What the status of a WebApp says of its Deployment.
struct Rollout {
    /// kube-controller-manager has seen the present spec.
    is_judged: bool,
    replicas: i32,
    updated: i32,
    ready: i32,
    available: i32,
}

/// Applies the Deployment unless the cached one already has every field that we own.
/// It returns what is known of its pods, and whether it is new.
async fn ensure_deployment(app: &WebApp, namespace: &str, ctx: &Context) -> Result<(Rollout, bool), Error> {
    let name = app.name_any();
    let have = ctx.deployments.get(&ObjectRef::new(&name).within(namespace));
    if let Some(d) = have.as_ref().filter(|d| deployment_matches(d, app)) {
        return Ok((rollout(d), false));
    }
    let labels = labels_for(&name);
    let want = Deployment {
        metadata: child_meta(app, namespace),
        spec: DeploymentSpec {
            replicas: Some(app.spec.replicas),
            selector: LabelSelector { match_labels: Some(labels.clone()), ..Default::default() },
            strategy: Some(strategy()),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..Default::default() }),
                spec: Some(PodSpec {
                    enable_service_links: Some(false),
                    security_context: Some(PodSecurityContext {
                        seccomp_profile: Some(SeccompProfile { type_: SECCOMP.into(), ..Default::default() }),
                        ..Default::default()
                    }),
                    termination_grace_period_seconds: Some(GRACE_PERIOD),
                    containers: vec![Container {
                        name: "app".into(),
                        image: Some(app.spec.image.clone()),
                        ports: Some(vec![ContainerPort {
                            container_port: app.spec.port,
                            protocol: Some("TCP".into()),
                            ..Default::default()
                        }]),
                        readiness_probe: Some(probe(app.spec.port)),
                        termination_message_policy: Some(MESSAGE_POLICY.into()),
                        security_context: Some(SecurityContext {
                            allow_privilege_escalation: Some(false),
                            ..Default::default()
                        }),
                        lifecycle: Some(Lifecycle {
                            pre_stop: Some(LifecycleHandler {
                                sleep: Some(SleepAction { seconds: DRAIN_SECONDS }),
                                ..Default::default()
                            }),
                            ..Default::default()
                        }),
                        ..Default::default()
                    }],
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Default::default()
    };
    let applied = Api::<Deployment>::namespaced(ctx.client.clone(), namespace)
        .patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&want))
        .await
        .map_err(|err| Error::Api("deployment", err))?;
    Ok((rollout(&applied), have.is_none()))
}

fn rollout(d: &Deployment) -> Rollout {
    let seen = d.status.clone().unwrap_or_default();
    Rollout {
        is_judged: seen.observed_generation.unwrap_or_default() >= d.metadata.generation.unwrap_or_default(),
        replicas: seen.replicas.unwrap_or_default(),
        updated: seen.updated_replicas.unwrap_or_default(),
        ready: seen.ready_replicas.unwrap_or_default(),
        available: seen.available_replicas.unwrap_or_default(),
    }
}

/// Returns whether the Service is new.
async fn ensure_service(app: &WebApp, namespace: &str, ctx: &Context) -> Result<bool, Error> {
    let name = app.name_any();
    let have = ctx.services.get(&ObjectRef::new(&name).within(namespace));
    if have.as_ref().is_some_and(|s| service_matches(s, app)) {
        return Ok(false);
    }
    let want = Service {
        metadata: child_meta(app, namespace),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".into()),
            selector: Some(labels_for(&name)),
            ports: Some(vec![ServicePort {
                port: app.spec.port,
                target_port: Some(IntOrString::Int(app.spec.port)),
                protocol: Some("TCP".into()),
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Default::default()
    };
    Api::<Service>::namespaced(ctx.client.clone(), namespace)
        .patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&want))
        .await
        .map_err(|err| Error::Api("service", err))?;
    Ok(have.is_none())
}

/// Returns whether the PodDisruptionBudget is new. Below two replicas there is none.
async fn ensure_budget(app: &WebApp, namespace: &str, ctx: &Context) -> Result<bool, Error> {
    let name = app.name_any();
    let have = ctx.budgets.get(&ObjectRef::new(&name).within(namespace));
    let budgets = Api::<PodDisruptionBudget>::namespaced(ctx.client.clone(), namespace);
    if app.spec.replicas < 2 {
        if !have.is_some_and(|b| is_controlled_by(&b.metadata, app)) {
            return Ok(false);
        }
        return match budgets.delete(&name, &DeleteParams::default()).await {
            Err(err) if !is_code(&err, &[404]) => Err(Error::Api("budget", err)),
            _ => Ok(false),
        };
    }
    if have.as_ref().is_some_and(|b| budget_matches(b, app)) {
        return Ok(false);
    }
    let want = PodDisruptionBudget {
        metadata: child_meta(app, namespace),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(LabelSelector { match_labels: Some(labels_for(&name)), ..Default::default() }),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".into()),
            ..Default::default()
        }),
        ..Default::default()
    };
    budgets
        .patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&want))
        .await
        .map_err(|err| Error::Api("budget", err))?;
    Ok(have.is_none())
}

fn strategy() -> DeploymentStrategy {
    DeploymentStrategy {
        type_: Some("RollingUpdate".into()),
        rolling_update: Some(RollingUpdateDeployment {
            max_unavailable: Some(IntOrString::Int(0)),
            max_surge: Some(IntOrString::String("25%".into())),
        }),
    }
}

fn probe(port: i32) -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction { port: IntOrString::Int(port), ..Default::default() }),
        period_seconds: Some(2),
        timeout_seconds: Some(1),
        success_threshold: Some(1),
        failure_threshold: Some(3),
        ..Default::default()
    }
}

fn deployment_matches(d: &Deployment, app: &WebApp) -> bool {
    let name = app.name_any();
    let spec = &d.spec;
    has_labels(d.metadata.labels.as_ref(), &name)
        && is_controlled_by(&d.metadata, app)
        && spec.replicas == Some(app.spec.replicas)
        && has_labels(spec.selector.match_labels.as_ref(), &name)
        && spec.strategy.as_ref() == Some(&strategy())
        && has_labels(spec.template.metadata.as_ref().and_then(|m| m.labels.as_ref()), &name)
        && spec.template.spec.as_ref().is_some_and(|pod| pod_matches(pod, app))
}

fn pod_matches(pod: &PodSpec, app: &WebApp) -> bool {
    let seccomp = pod.security_context.as_ref().and_then(|c| c.seccomp_profile.as_ref());
    pod.enable_service_links == Some(false)
        && pod.termination_grace_period_seconds == Some(GRACE_PERIOD)
        && seccomp.is_some_and(|p| p.type_ == SECCOMP)
        && pod.containers.iter().find(|c| c.name == "app").is_some_and(|c| {
            let sleep = c.lifecycle.as_ref().and_then(|l| l.pre_stop.as_ref()).and_then(|h| h.sleep.as_ref());
            c.image.as_deref() == Some(app.spec.image.as_str())
                && c.readiness_probe.as_ref() == Some(&probe(app.spec.port))
                && c.termination_message_policy.as_deref() == Some(MESSAGE_POLICY)
                && c.security_context.as_ref().is_some_and(|s| s.allow_privilege_escalation == Some(false))
                && sleep.is_some_and(|s| s.seconds == DRAIN_SECONDS)
                && c.ports.iter().flatten().any(|p| {
                    p.container_port == app.spec.port && p.protocol.as_deref() == Some("TCP")
                })
        })
}

fn service_matches(s: &Service, app: &WebApp) -> bool {
    let name = app.name_any();
    let Some(spec) = &s.spec else { return false };
    has_labels(s.metadata.labels.as_ref(), &name)
        && is_controlled_by(&s.metadata, app)
        && spec.type_.as_deref() == Some("ClusterIP")
        && is_selector(spec.selector.as_ref(), &name)
        && spec.ports.iter().flatten().any(|p| {
            p.port == app.spec.port
                && p.target_port == Some(IntOrString::Int(app.spec.port))
                && p.protocol.as_deref() == Some("TCP")
        })
}

fn budget_matches(b: &PodDisruptionBudget, app: &WebApp) -> bool {
    let name = app.name_any();
    let Some(spec) = &b.spec else { return false };
    has_labels(b.metadata.labels.as_ref(), &name)
        && is_controlled_by(&b.metadata, app)
        && spec.max_unavailable == Some(IntOrString::Int(1))
        && is_selector(spec.selector.as_ref().and_then(|s| s.match_labels.as_ref()), &name)
        && spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow")
}

/// The status that Homeostat reports while the pods have no trouble.
fn desired_status(app: &WebApp, seen: &Rollout) -> WebAppStatus {
    let generation = app.meta().generation.unwrap_or_default();
    let name = app.name_any();
    let was_complete = is_complete(app, generation);
    let (status, reason, message) = deployment_finding(app, seen, was_complete);
    let is_ready = status == "True";

    let mut s = app.status.clone().unwrap_or_default();
    s.observed_generation = generation;
    s.replicas = seen.replicas;
    s.updated_replicas = seen.updated;
    s.ready_replicas = seen.ready;
    s.available_replicas = seen.available;
    s.selector = format!("app.kubernetes.io/managed-by={MANAGER},app={name}");
    s.phase = match () {
        () if is_ready && app.spec.replicas == 0 => "Stopped",
        () if is_ready => "Running",
        () if was_complete && seen.available < app.spec.replicas => "Degraded",
        () if seen.ready > 0 => "Deploying",
        () => "Pending",
    }
    .into();

    let mut set = |type_: &str, status: &str, reason: &str, message: &str| {
        set_condition(&mut s.conditions, Condition {
            type_: type_.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            observed_generation: Some(generation),
            last_transition_time: Time(Timestamp::now()),
        });
    };
    set("Ready", &status, if is_ready { &reason } else { "ReplicasNotReady" }, &message);
    set("DeploymentReady", &status, &reason, &message);
    set("ServiceReady", "True", "Available", &format!("Service {name} offers port {}", app.spec.port));
    if is_ready {
        s.conditions.retain(|c| c.type_ != "Reconciling");
    } else {
        set("Reconciling", "True", &reason, &message);
    }
    s
}

/// The status, the reason and the message of the condition DeploymentReady.
fn deployment_finding(app: &WebApp, seen: &Rollout, was_complete: bool) -> (String, String, String) {
    let wanted = app.spec.replicas;
    let found = |status: &str, reason: &str, message: String| (status.into(), reason.into(), message);
    if !seen.is_judged {
        return match deployment_condition(app) {
            Some(c) if was_complete && c.status == "True" => found(&c.status, &c.reason, c.message.clone()),
            _ => found("Unknown", "RolloutInProgress", "the rollout of the present spec has not begun".into()),
        };
    }
    let ready = format!("{}/{wanted} ready", seen.ready);
    if seen.updated == seen.replicas && seen.replicas == wanted && seen.available == wanted {
        return if wanted == 0 {
            found("True", "ScaledToZero", format!("{ready}: spec.replicas is 0"))
        } else {
            found("True", "AllReplicasReady", ready)
        };
    }
    if seen.updated < wanted || seen.replicas > seen.updated {
        let old = if seen.replicas > seen.updated { ", the old revision still serves" } else { "" };
        let message = format!("{ready}: {} of {wanted} pods run the present spec{old}", seen.updated);
        return found("False", "RolloutInProgress", message);
    }
    found("False", "ReplicasNotReady", ready)
}

/// Whether all pods of this generation were there before.
fn is_complete(app: &WebApp, generation: i64) -> bool {
    app.status.as_ref().is_some_and(|s| s.phase == "Running" || s.phase == "Degraded")
        && deployment_condition(app).is_some_and(|c| c.observed_generation == Some(generation))
}

fn deployment_condition(app: &WebApp) -> Option<&Condition> {
    app.status.as_ref()?.conditions.iter().find(|c| c.type_ == "DeploymentReady")
}

/// Keeps the time of the last transition when the status is the same.
fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) {
    match conditions.iter_mut().find(|c| c.type_ == new.type_) {
        Some(old) => {
            if old.status == new.status {
                new.last_transition_time = old.last_transition_time.clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

/// Publishes in the background, as the recorder of client-go does.
fn record(ctx: &Context, app: &WebApp, note: String) {
    let (recorder, about) = (ctx.recorder.clone(), app.object_ref(&()));
    tokio::spawn(async move {
        let event = Event {
            type_: EventType::Normal,
            reason: "Created".into(),
            note: Some(note),
            action: "Create".into(),
            secondary: None,
        };
        if let Err(err) = recorder.publish(&event, &about).await {
            tracing::warn!("event: {err}");
        }
    });
}

fn child_meta(app: &WebApp, namespace: &str) -> ObjectMeta {
    let name = app.name_any();
    ObjectMeta {
        labels: Some(labels_for(&name)),
        owner_references: app.controller_owner_ref(&()).map(|o| vec![o]),
        name: Some(name),
        namespace: Some(namespace.into()),
        ..Default::default()
    }
}

fn labels_for(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("app".into(), name.into()),
        ("app.kubernetes.io/managed-by".into(), MANAGER.into()),
    ])
}

fn has_labels(have: Option<&BTreeMap<String, String>>, name: &str) -> bool {
    have.is_some_and(|l| {
        l.get("app").is_some_and(|v| v == name)
            && l.get("app.kubernetes.io/managed-by").is_some_and(|v| v == MANAGER)
    })
}

fn is_selector(have: Option<&BTreeMap<String, String>>, name: &str) -> bool {
    have.is_some_and(|m| m.len() == 2) && has_labels(have, name)
}

fn is_controlled_by(meta: &ObjectMeta, app: &WebApp) -> bool {
    let controller = meta.owner_references.iter().flatten().find(|o| o.controller == Some(true));
    controller.is_some_and(|o| Some(&o.uid) == app.meta().uid.as_ref())
}

fn is_code(err: &kube::Error, codes: &[u16]) -> bool {
    matches!(err, kube::Error::Api(status) if codes.contains(&status.code))
}
