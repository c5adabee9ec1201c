//! What a run leaves behind: tables on the terminal and files.

mod chart;
mod page;
mod picture;
mod scale;
mod table;
mod words;

use std::fs;
use std::path::Path;

use serde_json::json;

use super::error::Error;
use super::peak::Compared;
use super::plan::Plan;

pub(crate) use table::table;

/// Prints a table per provider and writes `result.json`, `index.html` and `demo.png`.
pub(crate) fn write(dir: &Path, plan: &Plan, all: &[Compared]) -> Result<(), Error> {
    for compared in all {
        println!(
            "\n{}\n\n{}",
            compared.scenario.title(),
            table(&compared.rows())
        );
    }
    let rows: Vec<_> = all.iter().flat_map(Compared::rows).collect();
    fs::create_dir_all(dir).map_err(Error::io(format!("create {}", dir.display())))?;
    let save = |name: &str, content: &[u8]| {
        let file = dir.join(name);
        fs::write(&file, content).map_err(Error::io(format!("write {}", file.display())))
    };
    save(
        "result.json",
        format!("{:#}\n", json!({"rows": rows})).as_bytes(),
    )?;
    save("index.html", page::page(plan, all).as_bytes())?;
    picture::write(&dir.join("demo.png"), plan, all)?;
    println!("\nThe page: {}", dir.join("index.html").display());
    println!("The picture: {}", dir.join("demo.png").display());
    Ok(())
}
