# A static binary in an image without a shell, as a user without rights. For a sidecar or `kubectl debug`:
#   docker run --rm -it ghcr.io/OWNER/claimtop postgres://ann@db.example/app
FROM rust:1-alpine AS build
RUN apk add --no-cache musl-dev
WORKDIR /claimtop
COPY . .
RUN cargo build --locked --profile dist && cp target/dist/claimtop /usr/local/bin/

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/local/bin/claimtop /claimtop
# The journal and the sightings of a sweep: mount a volume here to keep them.
ENV XDG_STATE_HOME=/state XDG_CONFIG_HOME=/config TERM=xterm-256color
USER 65532:65532
ENTRYPOINT ["/claimtop"]
