# The static program in an image without a shell, run by a user without rights. For a sidecar or `kubectl debug`:
#   docker run --rm -it ghcr.io/OWNER/claimtop postgres://ann@db.example/app
FROM rust:1-alpine AS build
RUN apk add --no-cache ca-certificates musl-dev
WORKDIR /claimtop
COPY . .
RUN cargo build --locked --profile dist
# The folders that the program writes to: an empty image has none.
RUN mkdir -p /image/state /image/config /image/tmp && cp target/dist/claimtop /image/

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /image/ /
# The journal and the sightings of a sweep are in /state: mount a volume there to keep them.
ENV XDG_STATE_HOME=/state XDG_CONFIG_HOME=/config TERM=xterm-256color
USER 65532:65532
ENTRYPOINT ["/claimtop"]
