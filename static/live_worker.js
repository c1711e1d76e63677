// The socket of a browser: a shared worker of all tabs, or a script of one page where there are no shared workers.
const LONGEST = 60_000; // milliseconds between two attempts
const SILENT = 60_000; // the server says something every 25 s
const pages = new Set();
let socket, last, address, retry, silence, wait = 1_000;

function tell(message) {
  last = message.live ? message : null;
  for (const page of pages) page.postMessage(message);
}

function open() {
  clearTimeout(retry);
  if (socket || !pages.size) return;
  const own = socket = new WebSocket(address);
  const watch = () => {
    clearTimeout(silence);
    silence = setTimeout(() => lose(own), SILENT);
  };
  own.onmessage = ({ data }) => {
    watch();
    const message = JSON.parse(data);
    if (own !== socket || !("live" in message)) return;
    wait = 1_000;
    tell(message);
  };
  own.onclose = own.onerror = () => lose(own);
  watch();
}

// Pages poll until there is another one. A dead connection takes minutes to close.
function lose(own) {
  own.close();
  if (own !== socket) return;
  socket = null;
  tell({ live: false });
  retry = setTimeout(open, wait * (0.5 + Math.random()));
  wait = Math.min(2 * wait, LONGEST);
}

self.onconnect = ({ ports: [page] }) => {
  page.onmessage = ({ data }) => {
    if (!data) {
      pages.delete(page);
      if (!pages.size && socket) socket.close();
      return;
    }
    address = data;
    pages.add(page);
    if (last) page.postMessage(last);
    open();
  };
};
