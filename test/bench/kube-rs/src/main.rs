//! The WebApp manager of the bench on kube-rs, written as a careful user of kube-rs would. It elects no leader.

use std::{fmt::Debug, net::SocketAddr, path::PathBuf, sync::Arc};

use clap::Parser;
use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service, policy::v1::PodDisruptionBudget};
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{
        Controller, WatchStreamExt, controller,
        events::{Recorder, Reporter},
        reflector::{self, Store},
        watcher,
    },
};
use serde::de::DeserializeOwned;

mod crd;
mod reconciler;
mod telemetry;

use crd::WebApp;
use reconciler::{Context, MANAGER, error_policy, reconcile};
use telemetry::{Telemetry, serve};

#[derive(Parser)]
struct Args {
    /// address of /metrics
    #[arg(long, default_value = "0.0.0.0:8080")]
    metrics_bind_address: SocketAddr,
    /// address of /healthz and /readyz
    #[arg(long, default_value = "0.0.0.0:8081")]
    health_probe_bind_address: SocketAddr,
    /// kubeconfig file; by default $KUBECONFIG or the service account
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// reconciles at a time
    #[arg(long, default_value_t = 16)]
    workers: u16,
    /// paged lists instead of streaming lists (WatchList)
    #[arg(long)]
    paged_lists: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()))
        .with_ansi(false)
        .init();
    let args = Args::parse();
    let telemetry = Telemetry::new(4);
    for addr in [args.metrics_bind_address, args.health_probe_bind_address] {
        let telemetry = telemetry.clone();
        tokio::spawn(async move {
            if let Err(err) = serve(addr, telemetry).await {
                tracing::error!("serve {addr}: {err}");
                std::process::exit(1);
            }
        });
    }

    let config = match &args.kubeconfig {
        Some(path) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default()).await?,
        None => Config::infer().await?,
    };
    let client = Client::try_from(config)?;
    let lists = if args.paged_lists { watcher::Config::default() } else { watcher::Config::default().streaming_lists() };

    // One watch for each kind feeds its store and the queue.
    let (webapps, webapp_events) = cached::<WebApp>(&client, &lists, telemetry.listed());
    let (deployments, deployment_events) = cached::<Deployment>(&client, &lists, telemetry.listed());
    let (services, service_events) = cached::<Service>(&client, &lists, telemetry.listed());
    let (budgets, budget_events) = cached::<PodDisruptionBudget>(&client, &lists, telemetry.listed());
    let webapp_events = {
        let telemetry = telemetry.clone();
        webapp_events
            .applied_objects()
            .inspect_ok(move |app| telemetry.triggered(app.meta().namespace.as_deref(), &app.name_any()))
    };
    let deployment_events = count_owners(deployment_events.touched_objects(), telemetry.clone());
    let service_events = count_owners(service_events.touched_objects(), telemetry.clone());
    let budget_events = count_owners(budget_events.touched_objects(), telemetry.clone());

    let context = Arc::new(Context {
        recorder: Recorder::new(client.clone(), Reporter::from(MANAGER)),
        client,
        deployments,
        services,
        budgets,
        telemetry: telemetry.clone(),
    });
    Controller::for_stream(webapp_events, webapps)
        .owns_stream(deployment_events)
        .owns_stream(service_events)
        .owns_stream(budget_events)
        .with_config(controller::Config::default().concurrency(args.workers))
        .shutdown_on_signal()
        .run(reconcile, error_policy, context)
        .for_each(|result| {
            match result {
                // A child of a WebApp that is gone.
                Err(controller::Error::ObjectNotFound(obj)) => {
                    telemetry.begun(obj.namespace.as_deref(), &obj.name);
                    telemetry.done(true);
                }
                Err(controller::Error::ReconcilerFailed(..)) | Ok(_) => {} // the error policy has logged it
                Err(err) => tracing::warn!("{err}"),
            }
            std::future::ready(())
        })
        .await;
    Ok(())
}

/// The store of a kind and the watch that fills it while it is polled. `first_list` is called once.
///
/// Not `Store::wait_until_ready`: in kube-runtime 5.0.0 all who wait for one store share a oneshot receiver, which keeps
/// the waker of the last one only, so the others sleep for ever (the Controller waits for the store of WebApps).
fn cached<K>(
    client: &Client,
    lists: &watcher::Config,
    first_list: impl FnOnce() + Send + 'static,
) -> (Store<K>, impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (store, writer) = reflector::store();
    let mut first_list = Some(first_list);
    let events = watcher(Api::<K>::all(client.clone()), lists.clone())
        .default_backoff()
        .modify(|obj| obj.meta_mut().managed_fields = None)
        .reflect(writer)
        .inspect_ok(move |event| {
            if let watcher::Event::InitDone = event
                && let Some(first_list) = first_list.take()
            {
                first_list();
            }
        });
    (store, events)
}

fn count_owners<K>(
    objects: impl Stream<Item = watcher::Result<K>> + Send + 'static,
    telemetry: Arc<Telemetry>,
) -> impl Stream<Item = watcher::Result<K>> + Send + 'static
where
    K: Resource<DynamicType = ()> + 'static,
{
    objects.inspect_ok(move |obj| {
        let meta = obj.meta();
        for owner in meta.owner_references.iter().flatten().filter(|o| o.kind == WebApp::kind(&())) {
            telemetry.triggered(meta.namespace.as_deref(), &owner.name);
        }
    })
}
