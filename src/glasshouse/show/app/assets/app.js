"use strict";
// Uploads, how far a run is, what a slider shows, and a sign of life. Every page works as forms and links alone.

const here = location.pathname.split("/").slice(0, 3).join("/");
const ALIVE = 15000, ASKED = 500, SPOKEN = 10000;

// A window that was closed says nothing more; the next page of a window says at once that it is there.
addEventListener("pagehide", () => navigator.sendBeacon(`${here}/left`, document.body.dataset.page));
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// of two pages of one window, the one that is looked at again says that the window goes on
addEventListener("visibilitychange", () => { if (!document.hidden) state().catch(ended); });

async function state() {
  const answer = await fetch(`${here}/state`);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

const working = document.querySelector("[data-working]");
if (working) follow(working); else setInterval(() => state().catch(ended), ALIVE);

// What stands on a page whose window is gone must not look as if it followed what is done there.
function ended() {
  const place = document.querySelector(".said");
  if (!place || place.querySelector(".ended")) return;
  const told = document.createElement("p");
  told.className = "problem ended";
  told.textContent = "The workbench was ended, or this window was closed: nothing that is done here has an effect any more.";
  place.append(told);
  place.classList.add("stays");
}

async function follow(page) {
  const bar = page.querySelector("progress"), line = page.querySelector("#line bdi"), spoken = page.querySelector("#spoken");
  for (let said = -SPOKEN; ;) {
    await new Promise((done) => setTimeout(done, ASKED));
    let now;
    try { now = await state(); } catch { line.textContent = "The workbench does not answer; it may have been ended."; continue; }
    if (!now.working) { location.replace(`${here}/${now.go}`); return; }
    if (now.total) {
      bar.max = now.total; bar.value = now.done;
      document.title = `${Math.floor((100 * now.done) / now.total)} % – Working – glasshouse`;
    }
    if (now.line && line.textContent !== now.line) line.textContent = now.line;
    // the line changes twice a second; read aloud, it would never stop
    if (performance.now() - said > SPOKEN) { said = performance.now(); spoken.textContent = line.textContent; }
  }
}

// -- where one was: what was said is read out, and a correction does not throw the page to its top ------------------------

const said = document.querySelector(".said");
const stayed = sessionStorage.getItem("stayed");
if (!working) sessionStorage.removeItem("stayed");
if (said && said.querySelector("p:not(.old)")) {
  said.focus({ preventScroll: true });
  const [path, at] = (stayed || "").split(" ");
  if (path === location.pathname) { said.classList.add("stays"); scrollTo({ top: Number(at), behavior: "instant" }); }
}
for (const form of document.querySelectorAll("form[data-stay]")) {
  form.addEventListener("submit", () => sessionStorage.setItem("stayed", `${location.pathname} ${scrollY}`));
}

// A link into a part that is folded opens it; some browsers do not.
function unfold() {
  const to = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = to && to.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  if (to) to.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();

// -- uploads: as they come, into the private folder of the window; named together when the last one has come ----------------

let sending = 0;
const sent = document.createElement("form");

function note(name, value) {
  const field = document.createElement("input");
  field.type = "hidden"; field.name = name; field.value = value;
  sent.append(field);
}

function upload(file, input, told) {
  const sends = new XMLHttpRequest();
  sending += 1;
  sends.open("PUT", `${here}/upload/${encodeURIComponent(file.name)}`);
  sends.upload.onprogress = (event) => {
    if (event.lengthComputable) told.textContent = `${file.name}: ${Math.round((100 * event.loaded) / event.total)} %`;
  };
  sends.onloadend = () => {
    if (sends.status === 200) {
      note("path", JSON.parse(sends.responseText).path);
      if (input.dataset.field) note(input.dataset.field, input.dataset.value);
    } else note("failed", file.name);
    sending -= 1;
    if (sending) return;
    sent.method = "post"; sent.action = input.dataset.upload;
    document.body.append(sent);
    sent.submit();
  };
  told.textContent = file.name;
  sends.send(file);
}
addEventListener("beforeunload", (event) => { if (sending) event.preventDefault(); });

for (const slot of document.querySelectorAll("[data-slot]")) {
  const input = slot.querySelector("input[type=file]"), drop = slot.querySelector(".drop");
  if (!input) continue;
  const told = slot.querySelector(".uploading");
  const take = (files) => {
    if (files.length > 1 && !input.multiple) told.textContent = "One file belongs here; bring the others to their own places.";
    else for (const file of files) upload(file, input, told);
  };
  input.addEventListener("change", () => take(input.files));
  take(input.files);  // chosen before this script was there
  for (const name of ["dragover", "dragleave", "drop"]) {
    slot.addEventListener(name, (event) => { event.preventDefault(); drop.classList.toggle("over", name === "dragover"); });
  }
  slot.addEventListener("drop", (event) => take(event.dataTransfer.files));
}
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());

// -- a slider, a column: the part of the page that follows, asked for anew; of several the last ------------------------------

for (const form of document.querySelectorAll("form[data-redraw]")) {
  const shown = document.querySelector(form.dataset.redraw);
  let asking = false, again = false;
  async function redraw() {
    if (asking) { again = true; return; }
    asking = true;
    const wanted = new URLSearchParams(new FormData(form));
    history.replaceState(null, "", `?${wanted}`);
    wanted.set("part", "1");
    try {
      const answer = await fetch(`${here}/${form.getAttribute("action")}?${wanted}`);
      if (answer.redirected) { location.assign(answer.url); return; }
      if (answer.ok) {
        shown.innerHTML = await answer.text();
        shown.dataset.drawn = wanted.get("at") || "";
        document.querySelector("#spoken").textContent = shown.querySelector("output")?.textContent || "";
      } else ended();
    } catch { ended(); } finally { asking = false; }
    if (again) { again = false; redraw(); }
  }
  form.addEventListener("input", (event) => {
    const output = form.querySelector(`output[data-of="${event.target.name}"]`);
    if (output) output.textContent = event.target.value;
    for (const other of document.querySelectorAll(`form[data-with] [name="${event.target.name}"]`)) other.value = event.target.value;
    if ("reload" in event.target.dataset) {
      const wanted = new URLSearchParams(new FormData(form));
      wanted.delete("at");
      location.assign(`${here}/${form.getAttribute("action")}?${wanted}`);
    } else redraw();
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); redraw(); });
}
