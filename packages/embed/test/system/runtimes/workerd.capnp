# The isolate has no `nodejs_compat`: a module of Node could not be loaded.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "club", worker = .club),
    # The receivers of the tests are on loopback. Without this, workerd calls public addresses only.
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true)))
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "club")]
);

const club :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [(className = "Club", uniqueKey = "club")],
  durableObjectStorage = (inMemory = void),
  bindings = [(name = "CLUB", durableObjectNamespace = "Club")]
);
