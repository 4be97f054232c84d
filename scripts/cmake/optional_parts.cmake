# Parts that a build can leave out; all are in it by default. With an option OFF, the sources of the part are not compiled,
# and the commands and flags of the part report that this build does not have it.
set(MUSTER_PARTS_LEFT_OUT "")
macro(muster_part name about)
  option(MUSTER_WITH_${name} "${about}" ON)
  if(NOT MUSTER_WITH_${name})
    list(APPEND MUSTER_PARTS_LEFT_OUT ${name})
  endif()
endmacro()

muster_part(TORCH_STORE "stores of torch.distributed: serve --torch, torch=PORT of clusters, muster torch")
muster_part(CLOUD_RESOLVERS "resolvers that ask Kubernetes, Compute Engine or Cloud TPU; muster::cluster_http")
muster_part(POSTMORTEM "muster postmortem")
muster_part(TOP "muster top")
muster_part(TLS "muster tls, which creates certificates; connections support TLS without it")
muster_part(RELAY "muster proxy")
