# The image of a Tessera node: any of the four roles, chosen by TESSERA_NODE__ROLE, or with `dev` a whole network for trying things out.
#
#   docker build -t tessera-node .
#   docker run --rm -p 127.0.0.1:8080:8080 tessera-node dev
#   docker run --init --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp \
#     -v storage:/data -e TESSERA_NODE__ROLE=storage … tessera-node
#
# Both bases are pinned by tag. A release pins them by digest too, which survives a tag that moves:
#   docker buildx imagetools inspect node:20.20.2-bookworm-slim --format '{{.Manifest.Digest}}'
#   docker build --build-arg NODE_IMAGE=node:20.20.2-bookworm-slim@sha256:… --build-arg RUNTIME_IMAGE=debian:…@sha256:… .
ARG NODE_IMAGE=node:20.20.2-bookworm-slim
# What the node image itself stands on. Only the node binary is taken over: no npm, yarn or corepack in what runs.
ARG RUNTIME_IMAGE=debian:bookworm-20250520-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No dependency needs its install script: native code comes prebuilt.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json vite.program.config.ts ./
COPY src ./src
COPY web ./web
# The build runs the program once, to keep what V8 compiles of it.
COPY scripts/compile-program.js ./scripts/
COPY config ./config
# What others import is not in the image.
RUN npm run build \
  && find dist -mindepth 1 -maxdepth 1 ! -name 'main.js*' ! -name program ! -name web -exec rm -r {} +

FROM ${NODE_IMAGE} AS production
WORKDIR /app
COPY package.json package-lock.json ./
# The program has all packages in it but those of native code, so only they are installed here; npm adds the optional one.
RUN node -e "const p = require('./package.json'); \
  p.dependencies = Object.fromEntries(process.argv.slice(1).map((name) => [name, p.dependencies[name]])); \
  fs.writeFileSync('package.json', JSON.stringify(p))" @node-rs/crc32 classic-level snappy
# Types and source maps of dependencies are for those who write programs, not for those who run them; and the image is of one
# platform.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete \
  && find node_modules/sodium-native/prebuilds -mindepth 1 -maxdepth 1 ! -name 'linux-*' -exec rm -r {} +
# The binary is at /usr/local/bin in the official image and elsewhere in others.
RUN cp "$(command -v node)" /node

FROM ${RUNTIME_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="tessera-node" \
  org.opencontainers.image.description="Tessera: a multi-role HTTP node for a UTXO blockchain" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
# A number, so that an orchestrator can see that it is not root. A new named volume takes owner and mode of /data over.
RUN groupadd --gid 10001 tessera \
  && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin tessera \
  && install -d -o 10001 -g 10001 -m 0700 /data
COPY --from=production /node /usr/local/bin/node
WORKDIR /app
COPY --from=production /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY config ./config
COPY openapi ./openapi
COPY deploy/container.toml deploy/healthcheck.js ./deploy/
# container.toml holds what every container needs; the rest comes from the environment (TESSERA_…, see `help options`).
# TESSERA_DEV_HOST: where `dev` listens inside; who reaches it from outside, the published port says.
ENV NODE_ENV=production TESSERA_CONFIG=/app/deploy/container.toml TESSERA_DEV_HOST=0.0.0.0
USER 10001:10001
VOLUME /data
STOPSIGNAL SIGTERM
# /readyz, not /livez: Docker's health is what `depends_on: service_healthy` and `docker ps` go by, and Docker restarts
# nothing because of it. Under an orchestrator that does restart (Swarm, Kubernetes) use /livez for that: a node that waits
# for its peers is not ready, and a restart does not bring them back.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "/app/deploy/healthcheck.js", "/readyz"]
# Exec form: the node gets the signals itself. It stops within five seconds. Run it with --init (compose: init: true).
ENTRYPOINT ["node", "/app/dist/main.js"]
