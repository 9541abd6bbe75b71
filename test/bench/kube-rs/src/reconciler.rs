//! The reconciler of `../controller-runtime` in Rust: finalizer, Deployment, Service, status; each is written only where it differs from the cache.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{Container, ContainerPort, PodSpec, PodTemplateSpec, Service, ServicePort, ServiceSpec},
    },
    apimachinery::pkg::{
        apis::meta::v1::{Condition, LabelSelector, ObjectMeta, Time},
        util::intstr::IntOrString,
    },
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
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

const FINALIZER: &str = "apps.kubedojo.io/finalizer";
pub const MANAGER: &str = "webapp-controller";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}: {1}")]
    Api(&'static str, #[source] kube::Error),
}

pub struct Context {
    pub client: Client,
    pub deployments: Store<Deployment>,
    pub services: Store<Service>,
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

async fn run(mut app: Arc<WebApp>, ctx: &Context) -> Result<(), Error> {
    let namespace = app.namespace().unwrap_or_default();
    let apps: Api<WebApp> = Api::namespaced(ctx.client.clone(), &namespace);
    let merge = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };

    let has_finalizer = app.finalizers().iter().any(|f| f == FINALIZER);
    if app.meta().deletion_timestamp.is_some() {
        if !has_finalizer {
            return Ok(());
        }
        // Children go with their owner (garbage collector); there is nothing external to clean up.
        let rest: Vec<_> = app.finalizers().iter().filter(|f| *f != FINALIZER).collect();
        let patch = json!({"metadata": {"finalizers": rest, "resourceVersion": app.resource_version()}});
        return match apps.patch(&app.name_any(), &merge, &Patch::Merge(patch)).await {
            Err(err) if !is_code(&err, &[404]) => Err(Error::Api("finalizer", err)),
            _ => Ok(()),
        };
    }
    if !has_finalizer {
        let mut all: Vec<&str> = app.finalizers().iter().map(String::as_str).collect();
        all.push(FINALIZER);
        let patch = json!({"metadata": {"finalizers": all, "resourceVersion": app.resource_version()}});
        match apps.patch(&app.name_any(), &merge, &Patch::Merge(patch)).await {
            Ok(patched) => app = Arc::new(patched),
            // The cache was behind: the event that brings it up to date queues the object again.
            Err(err) if is_code(&err, &[404, 409]) => return Ok(()),
            Err(err) => return Err(Error::Api("finalizer", err)),
        }
    }

    let deployment = ensure_deployment(&app, &namespace, ctx).await?;
    ensure_service(&app, &namespace, ctx).await?;

    let want = desired_status(&app, deployment.as_deref());
    if app.status.as_ref() == Some(&want) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"status": want}));
    match apps.patch_status(&app.name_any(), &merge, &patch).await {
        Err(err) if !is_code(&err, &[404]) => Err(Error::Api("status", err)),
        _ => Ok(()),
    }
}

/// Applies the Deployment unless the cached one already has every field that we own.
/// It returns the cached one, or `None` when there is none yet.
async fn ensure_deployment(app: &WebApp, namespace: &str, ctx: &Context) -> Result<Option<Arc<Deployment>>, Error> {
    let name = app.name_any();
    let have = ctx.deployments.get(&ObjectRef::new(&name).within(namespace));
    if have.as_ref().is_some_and(|d| deployment_matches(d, app)) {
        return Ok(have);
    }
    let labels = labels_for(&name);
    let want = Deployment {
        metadata: child_meta(app, namespace),
        spec: DeploymentSpec {
            replicas: Some(app.spec.replicas),
            selector: LabelSelector { match_labels: Some(labels.clone()), ..Default::default() },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..Default::default() }),
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "app".into(),
                        image: Some(app.spec.image.clone()),
                        ports: Some(vec![ContainerPort {
                            container_port: app.spec.port,
                            protocol: Some("TCP".into()),
                            ..Default::default()
                        }]),
                        ..Default::default()
                    }],
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Default::default()
    };
    Api::<Deployment>::namespaced(ctx.client.clone(), namespace)
        .patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&want))
        .await
        .map_err(|err| Error::Api("deployment", err))?;
    if have.is_none() {
        record(ctx, app, "DeploymentCreated", format!("Created Deployment {name}"));
    }
    Ok(have)
}

async fn ensure_service(app: &WebApp, namespace: &str, ctx: &Context) -> Result<(), Error> {
    let name = app.name_any();
    let have = ctx.services.get(&ObjectRef::new(&name).within(namespace));
    if have.as_ref().is_some_and(|s| service_matches(s, app)) {
        return Ok(());
    }
    let want = Service {
        metadata: child_meta(app, namespace),
        spec: Some(ServiceSpec {
            selector: Some(selector_for(&name)),
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
    if have.is_none() {
        record(ctx, app, "ServiceCreated", format!("Created Service {name}"));
    }
    Ok(())
}

fn deployment_matches(d: &Deployment, app: &WebApp) -> bool {
    let name = app.name_any();
    let spec = &d.spec;
    has_labels(d.metadata.labels.as_ref(), &name)
        && is_controlled_by(&d.metadata, app)
        && spec.replicas == Some(app.spec.replicas)
        && has_labels(spec.selector.match_labels.as_ref(), &name)
        && has_labels(spec.template.metadata.as_ref().and_then(|m| m.labels.as_ref()), &name)
        && spec.template.spec.as_ref().is_some_and(|pod| {
            pod.containers.iter().find(|c| c.name == "app").is_some_and(|c| {
                c.image.as_deref() == Some(app.spec.image.as_str())
                    && c.ports.iter().flatten().any(|p| {
                        p.container_port == app.spec.port && p.protocol.as_deref() == Some("TCP")
                    })
            })
        })
}

fn service_matches(s: &Service, app: &WebApp) -> bool {
    let name = app.name_any();
    let Some(spec) = &s.spec else { return false };
    has_labels(s.metadata.labels.as_ref(), &name)
        && is_controlled_by(&s.metadata, app)
        && is_selector(spec.selector.as_ref(), &name)
        && spec.ports.iter().flatten().any(|p| {
            p.port == app.spec.port
                && p.target_port == Some(IntOrString::Int(app.spec.port))
                && p.protocol.as_deref() == Some("TCP")
        })
}

fn desired_status(app: &WebApp, deployment: Option<&Deployment>) -> WebAppStatus {
    let generation = app.meta().generation.unwrap_or_default();
    let mut s = app.status.clone().unwrap_or_default();
    s.observed_generation = generation;
    let seen = deployment.and_then(|d| d.status.clone()).unwrap_or_default();
    let is = |n: Option<i32>| n.unwrap_or_default() == app.spec.replicas;
    let (phase, status, reason, message) = match deployment {
        None => ("Pending", "False", "DeploymentPending", "the Deployment was just applied"),
        Some(d)
            if seen.observed_generation.unwrap_or_default() >= d.metadata.generation.unwrap_or_default()
                && d.spec.replicas == Some(app.spec.replicas)
                && is(seen.replicas)
                && is(seen.updated_replicas)
                && is(seen.available_replicas) =>
        {
            ("Running", "True", "AllReplicasAvailable", "every replica is available")
        }
        Some(_) => ("Deploying", "False", "RollingOut", "the Deployment is rolling out"),
    };
    s.phase = phase.into();
    s.replicas = seen.replicas.unwrap_or_default();
    s.ready_replicas = seen.ready_replicas.unwrap_or_default();
    set_condition(&mut s.conditions, Condition {
        type_: "Available".into(),
        status: status.into(),
        reason: reason.into(),
        message: message.into(),
        observed_generation: Some(generation),
        last_transition_time: Time(Timestamp::now()),
    });
    s
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
fn record(ctx: &Context, app: &WebApp, reason: &'static str, note: String) {
    let (recorder, about) = (ctx.recorder.clone(), app.object_ref(&()));
    tokio::spawn(async move {
        let event = Event {
            type_: EventType::Normal,
            reason: reason.into(),
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

fn selector_for(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("app".into(), name.into())])
}

fn has_labels(have: Option<&BTreeMap<String, String>>, name: &str) -> bool {
    have.is_some_and(|l| {
        l.get("app").is_some_and(|v| v == name)
            && l.get("app.kubernetes.io/managed-by").is_some_and(|v| v == MANAGER)
    })
}

fn is_selector(have: Option<&BTreeMap<String, String>>, name: &str) -> bool {
    have.is_some_and(|m| m.len() == 1 && m.get("app").is_some_and(|v| v == name))
}

fn is_controlled_by(meta: &ObjectMeta, app: &WebApp) -> bool {
    let controller = meta.owner_references.iter().flatten().find(|o| o.controller == Some(true));
    controller.is_some_and(|o| Some(&o.uid) == app.meta().uid.as_ref())
}

fn is_code(err: &kube::Error, codes: &[u16]) -> bool {
    matches!(err, kube::Error::Api(status) if codes.contains(&status.code))
}
