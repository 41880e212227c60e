# syntax=docker/dockerfile:1
# The image of the service. See docs/operating.md to run it.

# The newest long-term line: the fastest one (docs/evidence/benchmarks.md). The tests run on all supported lines.
ARG NODE_VERSION=26

FROM node:${NODE_VERSION}-slim AS build
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/root/.npm npm ci --loglevel=warn --no-audit --no-fund
RUN node packages/node/scripts/program.mjs && chmod 0755 packages/node/dist/program/startlist.js

# The program is bundled. It only needs packages that have files beside their code.
FROM node:${NODE_VERSION}-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data LOG_FORMAT=json
WORKDIR /app
COPY --from=build /source/LICENSE ./
COPY --from=build /source/node_modules/@electric-sql/pglite node_modules/@electric-sql/pglite
COPY --from=build /source/node_modules/@node-rs node_modules/@node-rs
COPY --from=build /source/packages/node/package.json node_modules/@startlist/node/package.json
COPY --from=build /source/packages/node/dist/*.image node_modules/@startlist/node/dist/
COPY --from=build /source/packages/node/dist/program node_modules/@startlist/node/dist/program
RUN ln -s /app/node_modules/@startlist/node/dist/program/startlist.js /usr/local/bin/startlist \
  && install -d -o node -g node -m 0700 /data

USER node
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
# Checks that the process is alive. The proxy checks /readyz, which fails without the database and during a stop.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["startlist"]
CMD ["serve"]
