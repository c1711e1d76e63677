// An OpenID provider on the loopback: `node provider.mjs CALLBACK`. It prints its issuer. Everybody signs in with any
// password; what is in front of the "@" says whether the address is confirmed.
import http from "node:http";
import Provider from "oidc-provider";

const server = http.createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{client_id: "carillon", client_secret: "a secret: of/both", redirect_uris: [process.argv[2]]}],
    claims: {email: ["email", "email_verified"], profile: ["name"]},
    conformIdTokenClaims: false,
    pkce: {required: () => true},
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({sub: id, name: "Ada", email: id, email_verified: !id.startsWith("unconfirmed")}),
    }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
process.stdin.on("end", () => process.exit()).resume();
