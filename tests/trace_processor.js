// Perfetto's trace processor, as its page runs it in a worker, run by Node on messages in a file.
// node trace_processor.js FOLDER REQUESTS REPLIES: FOLDER has Perfetto's page; the files hold messages, each after its
// length in four bytes.
const fs = require('fs'), path = require('path'), vm = require('vm');
const {argv, exit} = process;
const [folder, requests, replies] = argv.slice(2);
const read = url => fs.readFileSync(path.join(folder, path.basename(String(url))));

// What the bundle expects of a worker.
globalThis.self = globalThis;
globalThis.location = {href: 'http://localhost/worker.js', protocol: 'http:', host: 'localhost'};
globalThis.WorkerGlobalScope = function () {};
globalThis.XMLHttpRequest = function () {
  this.open = (method, url) => { this.url = url; };
  this.send = () => { this.response = new Uint8Array(read(this.url)).buffer; };
};
globalThis.fetch = async url => new Response(read(url), {headers: {'content-type': 'application/wasm'}});
console.log = console.warn = console.error = () => {};
Object.defineProperty(globalThis, 'process', {value: undefined, configurable: true, writable: true});
vm.runInThisContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'));

const all = fs.readFileSync(requests), asked = [], answers = [];
for (let at = 0; at < all.length;) {
  const size = all.readUInt32LE(at);
  asked.push(new Uint8Array(all.subarray(at + 4, at + 4 + size)));
  at += 4 + size;
}
// The first message is kept until the module is compiled; from then on each is answered before its call returns.
const port = {postMessage: data => answers.push(Buffer.from(data))};
globalThis.onmessage({data: port});
const waiting = setInterval(() => {
  if (!port.onmessage) return;
  if (asked.length) port.onmessage({data: asked.shift()});
  if (!answers.length) return;
  for (const one of asked) port.onmessage({data: one});
  clearInterval(waiting);
  const size = one => { const head = Buffer.alloc(4); head.writeUInt32LE(one.length); return head; };
  fs.writeFileSync(replies, Buffer.concat(answers.flatMap(one => [size(one), one])));
  exit(0);
}, 20);
