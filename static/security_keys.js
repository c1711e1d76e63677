// Security keys (WebAuthn): a press of the form's button asks the key, and the form sends what it answers.
const form = document.querySelector("form[data-security-key]");
const { creation_options: making, request_options: asking } = JSON.parse(document.getElementById("key-options").textContent);

async function ask() {
  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) throw new DOMException("", "NotSupportedError");
  const { parseCreationOptionsFromJSON: creation, parseRequestOptionsFromJSON: request } = PublicKeyCredential;
  const answer = making
    ? await navigator.credentials.create({ publicKey: creation.call(PublicKeyCredential, making.publicKey) })
    : await navigator.credentials.get({ publicKey: request.call(PublicKeyCredential, asking.publicKey) });
  return JSON.stringify(answer.toJSON());
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const troubles = [...form.querySelectorAll("[data-trouble]")];
  for (const trouble of troubles) trouble.hidden = true;
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    form.elements.credential.value = await ask();
    form.submit();
  } catch ({ name }) {
    const shown = troubles.find((trouble) => trouble.dataset.trouble === name) ?? troubles.at(-1);
    shown.hidden = false;
    button.disabled = false;
  }
});
