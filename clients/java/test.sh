#!/usr/bin/env bash
# Builds the jar, tests it against a started service and an edge, and runs a program outside of the repository that depends on it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$root/node_modules/node/bin:$PATH"
work=$(mktemp -d)
source "$here/../processes.sh"

# An authority, and certificates of it for the edge and for its callers.
mkdir "$work/certificates"
cd "$work/certificates"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt 2>ca.log
for name in server client; do
  openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -addext subjectAltName=IP:127.0.0.1 -keyout "$name.key" -out "$name.csr" 2>"$name.log"
  openssl x509 -req -in "$name.csr" -CA ca.crt -CAkey ca.key -days 2 -copy_extensions copy -out "$name.crt" 2>>"$name.log"
done

export USHER_DATA="$work/data" USHER_MAIN="$root/src/main.ts" USHER_CERTIFICATES="$work/certificates"
mkdir "$USHER_DATA"
start service
USHER_GRPC=$(address service grpc)
USHER_URL=$(address service rest)
USHER_KEY=$(cat "$USHER_DATA/internal-api-key")
GRPC_TLS_CERT=server.crt GRPC_TLS_KEY=server.key GRPC_TLS_CLIENT_CA=ca.crt start edge --upstream "$USHER_GRPC"
USHER_EDGE=$(address edge grpc)
export USHER_GRPC USHER_URL USHER_KEY USHER_EDGE

cd "$here"
"$root/.ci/tools/run" mvn --quiet --batch-mode clean install

mkdir -p "$work/app/src/main/java"
cd "$work/app"
cat >pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>app</groupId>
  <artifactId>app</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>io.github.usher-service</groupId>
      <artifactId>usher-client</artifactId>
      <version>0.1.0</version>
    </dependency>
  </dependencies>
</project>
POM
cat >src/main/java/Main.java <<'MAIN'
import io.github.usherservice.client.Question;
import io.github.usherservice.client.Usher;
import java.time.Duration;

class Main {
  public static void main(String[] args) {
    try (Usher usher = Usher.builder(args[0]).key(args[1]).deadline(Duration.ofSeconds(10)).build()) {
      System.out.println(usher.allowed(new Question("ben@example.com", "atelier", "project.access")));
    }
  }
}
MAIN
mvn --quiet --batch-mode compile org.apache.maven.plugins:maven-dependency-plugin:3.11.0:build-classpath -Dmdep.outputFile=classpath
test "$(java -cp "target/classes:$(cat classpath)" Main "$USHER_GRPC" "$USHER_KEY")" = true
