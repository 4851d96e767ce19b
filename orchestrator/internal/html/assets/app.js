"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const html = document.documentElement;

  // Elements are made from text, never from markup.
  const el = (tag, attributes, ...children) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes || {})) {
      if (v !== undefined && v !== false) e.setAttribute(k, v);
    }
    e.append(...children.filter((c) => c !== null && c !== ""));
    return e;
  };
  const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const many = (n, noun) => number(n) + " " + noun + (n === 1 ? "" : "s");
  const words = (s) => s.replaceAll("_", " ");
  const folded = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  // The age of the commit, by the reader's clock.
  const age = () => {
    const time = Date.parse($("committed").dateTime);
    if (Number.isNaN(time)) return;
    const minutes = Math.floor((Date.now() - time) / 60000);
    const ago = (n, unit) => ", " + n + " " + unit + (n === 1 ? "" : "s") + " ago";
    let text;
    if (minutes < -1) text = ", in the future by this machine\u2019s clock";
    else if (minutes < 1) text = ", just now";
    else if (minutes < 60) text = ago(minutes, "minute");
    else if (minutes < 48 * 60) text = ago(Math.floor(minutes / 60), "hour");
    else if (minutes < 60 * 24 * 60) text = ago(Math.floor(minutes / 1440), "day");
    else if (minutes < 730 * 24 * 60) text = ago(Math.floor(minutes / 1440 / 30.44), "month");
    else text = ago(Math.floor(minutes / 1440 / 365.25), "year");
    $("age").textContent = text;
  };

  // The data is read when it is needed for the first time.
  let loaded = null;
  const data = () => loaded || (loaded = JSON.parse($("data").textContent));
  const str = (i) => data().s[i];
  const path = (i) => {
    const d = data();
    const dir = d.s[d.path[2 * i]];
    const base = d.s[d.path[2 * i + 1]];
    return dir === "" ? base : dir === "/" ? "/" + base : dir + "/" + base;
  };
  const place = (i, line) => (line > 0 ? path(i) + ":" + line : path(i));

  const hopItem = (kind, name, where, cluster) => {
    const li = el("li", {}, el("span", { class: "hop" }, kind));
    if (name) li.append(" ", el("b", {}, name));
    if (where) li.append(" ", el("code", {}, where));
    if (cluster && cluster !== name) li.append(" ", el("span", { class: "on" }, "on " + cluster));
    return li;
  };
  // trace lists the hops from a node on; first is the file itself.
  const trace = (node, first) => {
    const d = data();
    const list = el("ol", { class: "trace" });
    if (first) list.append(hopItem("file", "", first, ""));
    for (let n = node; n > 0; n = d.node[3 * (n - 1) + 2]) {
      const h = 4 * d.node[3 * (n - 1)];
      const p = d.hop[h + 1];
      list.append(hopItem(str(d.hop[h]), str(d.hop[h + 2]), p > 0 ? place(p - 1, d.node[3 * (n - 1) + 1]) : "", str(d.hop[h + 3])));
    }
    return list.childElementCount ? list : null;
  };

  // A list that shows matching rows a page at a time. match returns the indices
  // of the rows that match, show the element of one.
  const pager = (o) => {
    let found = [];
    let shown = 0;
    let ran = false;
    const more = () => {
      const until = Math.min(found.length, shown + 100);
      const rows = document.createDocumentFragment();
      for (; shown < until; shown++) rows.append(o.show(found[shown]));
      o.list.append(rows);
      o.more.hidden = shown >= found.length;
      o.more.textContent = "Show " + number(Math.min(100, found.length - shown)) + " more of " + number(found.length);
    };
    o.more.addEventListener("click", () => {
      // Rows that the page came with are replaced by the same ones and more.
      const first = o.list.childElementCount;
      if (ran) more();
      else run();
      // The keyboard goes on where the new rows begin.
      const row = o.list.children[first];
      const target = row && (row.querySelector("summary") || row);
      if (target) {
        if (target.tabIndex < 0) target.tabIndex = -1;
        target.focus();
      }
    });
    const run = () => {
      found = o.match();
      shown = 0;
      ran = true;
      o.list.replaceChildren();
      more();
      o.status.textContent = o.say(found.length);
      if (o.after) o.after();
    };
    let timer = 0;
    o.form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(run, 80);
    });
    o.form.addEventListener("submit", (e) => e.preventDefault());
    o.form.hidden = false;
  };

  // Files and their placements.
  let fileText = null;
  let fileStart = null;
  const files = () => {
    const d = data();
    const n = d.file.length / 3;
    if (!fileText) {
      fileText = new Array(n);
      fileStart = new Array(n);
      let at = 0;
      for (let i = 0; i < n; i++) {
        fileText[i] = path(d.file[3 * i]).toLowerCase();
        fileStart[i] = at;
        at += d.file[3 * i + 2];
      }
    }
    return n;
  };
  const placementsOf = (i) => {
    const d = data();
    const out = [];
    for (let k = 0; k < d.file[3 * i + 2]; k++) {
      const p = 3 * (fileStart[i] + k);
      const l = 9 * d.place[p];
      out.push({
        class: str(d.land[l]), cluster: str(d.land[l + 1]), controller: str(d.land[l + 3]), state: str(d.land[l + 5]),
        reason: str(d.land[l + 6]), detail: str(d.land[l + 7]), role: str(d.land[l + 8]), trace: d.place[p + 1], line: d.place[p + 2],
      });
    }
    return out;
  };
  const placement = (p, file) => {
    const line = el("p", {}, el("strong", { class: "tag c-" + p.class }, words(p.class)));
    if (p.cluster) line.append(" on ", el("b", {}, p.cluster));
    if (p.controller) line.append(" by " + p.controller);
    let about = words(p.role);
    if (p.state && p.state !== "resolved") about += ", " + words(p.state);
    if (p.reason) about += ", " + words(p.reason);
    line.append(" (" + about + ")" + (p.detail ? ": " + p.detail : ""));
    const box = el("div", { class: "placement" }, line);
    const first = p.line > 0 ? path(file) + (p.line > 1 ? ":" + (p.line - 1) : "") : "";
    const hops = trace(p.trace, first);
    if (hops) box.append(hops);
    return box;
  };
  const fileItem = (i) => {
    const d = data();
    const info = 5 * d.file[3 * i + 1];
    const summary = el("summary", {}, el("code", { class: "path" }, path(d.file[3 * i])), " ",
      el("span", { class: "about" }, words(str(d.info[info])) + ", " + words(str(d.info[info + 1]))));
    const all = placementsOf(i);
    const lands = [...new Set(all.map((p) => words(p.class) + (p.cluster ? " " + p.cluster : "")))].filter((l) => l !== words(str(d.info[info + 1])));
    for (const land of lands.slice(0, 4)) summary.append(" ", el("span", { class: "land" }, land));
    if (lands.length > 4) summary.append(" ", el("span", { class: "land" }, "and " + (lands.length - 4) + " more"));
    const details = el("details", {}, summary);
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      const reason = str(d.info[info + 2]);
      const detail = str(d.info[info + 3]);
      if (reason) details.append(el("p", {}, words(reason) + (detail ? ": " + detail : "")));
      let at = 0;
      const next = () => {
        for (const end = Math.min(all.length, at + 50); at < end; at++) details.append(placement(all[at], d.file[3 * i]));
        if (at < all.length) {
          const more = el("button", { type: "button", class: "more" }, "Show more of " + many(all.length, "placement"));
          more.addEventListener("click", () => {
            more.remove();
            const last = details.lastElementChild;
            next();
            last.nextElementSibling.tabIndex = -1;
            last.nextElementSibling.focus();
          });
          details.append(more);
        }
      };
      next();
    });
    return el("li", {}, details);
  };
  const findFiles = () => {
    const d = data();
    const n = files();
    const want = folded($("file-text").value);
    const analysis = d.s.indexOf($("file-analysis").value);
    const cls = d.s.indexOf($("file-class").value);
    const cluster = d.s.indexOf($("file-cluster").value);
    const out = [];
    for (let i = 0; i < n; i++) {
      if (analysis > 0 && d.info[5 * d.file[3 * i + 1] + 1] !== analysis) continue;
      if (!want.every((w) => fileText[i].includes(w))) continue;
      if (cls > 0 || cluster > 0) {
        let lands = false;
        for (let k = 0; k < d.file[3 * i + 2] && !lands; k++) {
          const l = 9 * d.place[3 * (fileStart[i] + k)];
          lands = (cls <= 0 || d.land[l] === cls) && (cluster <= 0 || d.land[l + 1] === cluster);
        }
        if (!lands) continue;
      }
      out.push(i);
    }
    return out;
  };

  // Objects and their owners.
  let objectText = null;
  let objectStart = null;
  const objects = () => {
    const d = data();
    const n = d.object.length / 5;
    if (!objectText) {
      objectText = new Array(n);
      objectStart = new Array(n);
      let at = 0;
      for (let i = 0; i < n; i++) {
        const o = 5 * i;
        objectStart[i] = at;
        const first = d.object[o + 4] > 0 ? path(d.origin[2 * at]) : "";
        objectText[i] = (str(d.kind[3 * d.object[o + 1] + 2]) + " " + str(d.object[o + 2]) + "/" + str(d.object[o + 3]) + " " + first).toLowerCase();
        at += d.object[o + 4];
      }
    }
    return n;
  };
  const objectRow = (i) => {
    const d = data();
    const o = 5 * i;
    const w = 7 * d.object[o];
    const namespace = str(d.object[o + 2]);
    const hub = str(d.own[w + 1]);
    const reason = str(d.own[w + 6]);
    const origins = el("td");
    for (let k = 0; k < d.object[o + 4]; k++) {
      if (k > 0) origins.append(el("br"));
      const at = 2 * (objectStart[i] + k);
      origins.append(el("code", {}, ...steps(place(d.origin[at], d.origin[at + 1]))));
    }
    return el("tr", {},
      el("th", { scope: "row" }, el("span", { class: "kind" }, str(d.kind[3 * d.object[o + 1] + 2])), " " + (namespace ? namespace + "/" : "") + str(d.object[o + 3])),
      el("td", {}, str(d.own[w])),
      el("td", {}, str(d.own[w + 3]) + " " + str(d.own[w + 2]) + (hub !== str(d.own[w]) ? " on " + hub : "")),
      el("td", {}, words(str(d.own[w + 5])) + (reason ? ": " + words(reason) : "")),
      origins);
  };
  const findObjects = () => {
    const d = data();
    const n = objects();
    const want = folded($("object-text").value);
    const verdict = d.s.indexOf($("object-verdict").value);
    const cluster = d.s.indexOf($("object-cluster").value);
    const out = [];
    for (let i = 0; i < n; i++) {
      const w = 7 * d.object[5 * i];
      if (verdict > 0 && d.own[w + 5] !== verdict) continue;
      if (cluster > 0 && d.own[w] !== cluster) continue;
      if (want.every((x) => objectText[i].includes(x))) out.push(i);
    }
    return out;
  };

  // Findings.
  const findingText = (i) => {
    const d = data();
    const f = 14 * i;
    return [str(d.finding[f]), d.finding[f + 2] > 0 ? path(d.finding[f + 2] - 1) : "", str(d.finding[f + 4]), str(d.finding[f + 5]),
      str(d.finding[f + 6]) + "/" + str(d.finding[f + 7]), str(d.finding[f + 10])].join(" ").toLowerCase();
  };
  // steps may break after each slash, for the cells of tables.
  const steps = (s) => s.split(/(?<=\/)/).flatMap((part) => [part, el("wbr")]);
  let factStart = null;
  const facts = (i, n) => {
    const d = data();
    if (!factStart) {
      factStart = [0];
      for (let k = 0; k < d.finding.length / 14; k++) factStart.push(factStart[k] + d.finding[14 * k + 13]);
    }
    const body = el("tbody");
    for (let k = 4 * factStart[i]; k < 4 * (factStart[i] + n); k += 4) {
      body.append(el("tr", {}, el("th", { scope: "row" }, str(d.fact[k]) || "repository"), el("td", {}, str(d.fact[k + 1])),
        el("td", {}, ...(d.fact[k + 2] > 0 ? [el("code", {}, ...steps(place(d.fact[k + 2] - 1, d.fact[k + 3])))] : []))));
    }
    return el("div", { class: "scroll", role: "region", "aria-label": "Side by side: " + (d.finding[14 * i + 2] > 0 ? place(d.finding[14 * i + 2] - 1, d.finding[14 * i + 3]) + " " : "") + str(d.finding[14 * i + 10]), tabindex: "0" },
      el("table", { class: "sides" }, el("caption", {}, "Side by side"),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "On"), el("th", { scope: "col" }, "What is so"), el("th", { scope: "col", class: "long-text" }, "Written in"))), body));
  };
  let consequences = null;
  const findingItem = (i) => {
    const d = data();
    const f = 14 * i;
    const severity = str(d.finding[f + 1]);
    const kind = str(d.finding[f + 5]);
    const namespace = str(d.finding[f + 6]);
    const where = el("p", { class: "where" }, el("span", { class: "sev s-" + severity }, severity));
    if (d.finding[f + 2] > 0) where.append(" ", el("code", {}, place(d.finding[f + 2] - 1, d.finding[f + 3])));
    if (d.finding[f + 4] > 0) where.append(" ", el("span", { class: "on" }, "on " + str(d.finding[f + 4])));
    if (kind) where.append(" ", el("span", { class: "on" }, kind + " " + (namespace ? namespace + "/" : "") + str(d.finding[f + 7])));
    where.append(" ", el("code", { class: "rulename" }, str(d.finding[f])));
    const item = el("li", { class: "finding s-" + severity }, where, el("p", {}, str(d.finding[f + 10])));
    if (!consequences) consequences = new Map(d.rule.map((r) => [r.rule, r]));
    const rule = consequences.get(str(d.finding[f]));
    if (rule && rule.consequence) item.append(el("p", { class: "quiet" }, el("b", {}, "Consequence: "), rule.consequence));
    if (d.finding[f + 11] > 0) item.append(el("p", {}, el("b", {}, "Remedy: "), str(d.finding[f + 11])));
    if (d.finding[f + 13] > 0) item.append(facts(i, d.finding[f + 13]));
    const hops = trace(d.finding[f + 12], "");
    if (hops) item.append(el("details", {}, el("summary", {}, "How it gets there, " + hops.childElementCount + " steps"), hops));
    return item;
  };
  const findingWanted = () => $("finding-text").value.trim() !== "" || $("finding-severity").value !== "" || $("finding-rule").value !== "";
  const findFindings = () => {
    const d = data();
    const want = folded($("finding-text").value);
    const severity = d.s.indexOf($("finding-severity").value);
    const rule = d.s.indexOf($("finding-rule").value);
    const out = [];
    for (let i = 0; i < d.finding.length / 14; i++) {
      if (severity > 0 && d.finding[14 * i + 1] !== severity) continue;
      if (rule > 0 && d.finding[14 * i] !== rule) continue;
      if (want.length === 0 || want.every((w) => findingText(i).includes(w))) out.push(i);
    }
    return out;
  };

  // Tables that can be sorted by a column.
  const sortable = (table) => {
    table.querySelectorAll("thead th").forEach((th, column) => {
      const button = el("button", { type: "button" }, ...th.childNodes);
      th.append(button);
      button.addEventListener("click", () => {
        const up = th.getAttribute("aria-sort") === (th.classList.contains("n") ? "descending" : "ascending");
        const down = th.classList.contains("n") ? !up : up;
        table.querySelectorAll("th[aria-sort]").forEach((o) => o.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const value = (row) => row.cells[column].textContent.trim();
        const numeric = (s) => parseInt(s.replace(/[^\d-]/g, ""), 10) || 0;
        const rows = [...body.rows];
        rows.sort(th.classList.contains("n") ? (a, b) => numeric(value(a)) - numeric(value(b)) : (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0));
        if (down) rows.reverse();
        body.append(...rows);
      });
    });
  };

  // The view that is being read is marked in the navigation.
  const follow = () => {
    const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
    const views = [...links.keys()].map($);
    const mark = () => {
      let current = views[0];
      for (const v of views) if (v.getBoundingClientRect().top < html.clientHeight / 3) current = v;
      for (const [id, a] of links) {
        if (id === current.id) a.setAttribute("aria-current", "true");
        else a.removeAttribute("aria-current");
      }
    };
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    }, { passive: true });
    mark();
  };

  age();
  follow();
  document.querySelectorAll("table.sortable").forEach(sortable);
  pager({
    form: $("file-filter"), list: $("file-list"), more: $("file-more"), status: $("file-status"),
    match: findFiles, show: fileItem, say: (n) => many(n, "file") + (n === 1 ? " matches." : " match."),
  });
  pager({
    form: $("object-filter"), list: $("object-list"), more: $("object-more"), status: $("object-status"),
    match: findObjects, show: objectRow, say: (n) => many(n, "object") + (n === 1 ? " matches." : " match."),
    after: () => { $("object-region").hidden = $("object-list").childElementCount === 0; },
  });
  pager({
    form: $("finding-filter"), list: $("finding-list"), more: $("finding-more"), status: $("finding-status"),
    match: () => (findingWanted() ? findFindings() : []), show: findingItem,
    say: (n) => (findingWanted() ? many(n, "finding") + (n === 1 ? " matches." : " match.") : ""),
    after: () => {
      $("finding-static").hidden = findingWanted();
      $("finding-result").hidden = !findingWanted();
    },
  });
  // The first rows are in the page; all of them come with the first wish for more.
  const button = $("file-more");
  const shown = $("file-list").childElementCount;
  const total = Number($("file-list").dataset.total);
  if (total > shown) {
    button.hidden = false;
    button.textContent = "Show all " + many(total, "file");
  }
  // On paper every finding shows how it gets there.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("#findings details:not([open])")];
    for (const d of opened) d.open = true;
  });
  addEventListener("afterprint", () => {
    for (const d of opened) d.open = false;
  });
  html.dataset.ready = "true";
})();
